"""Parts that HTML pages share: the template environment, charts, and two texts side by side."""
