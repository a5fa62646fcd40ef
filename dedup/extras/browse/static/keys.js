// "/" moves to the search field; j and k move to the next and previous item. Every page works without this script.
"use strict";
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select")) return;
  if (event.key === "/") {
    const field = document.querySelector("[data-find]");
    if (field) {
      event.preventDefault();
      field.focus();
    }
    return;
  }
  if (event.key !== "j" && event.key !== "k") return;
  const links = [...document.querySelectorAll("[data-item]")]
    .map((item) => item.querySelector("a"))
    .filter(Boolean);
  if (!links.length) return;
  const here = document.activeElement && document.activeElement.closest("[data-item]");
  const at = links.findIndex((link) => here && here.contains(link));
  const next = event.key === "j" ? at + 1 : at < 0 ? links.length - 1 : at - 1;
  if (links[next]) {
    event.preventDefault();
    links[next].focus();
  }
});
