-- Rights on what is made for an attached table.

-- name: holders
-- Roles that were given a right on a relation.
SELECT r.rolname FROM pg_class c, aclexplode(c.relacl) AS a JOIN pg_roles r ON r.oid = a.grantee
WHERE c.relnamespace = 'dedup'::regnamespace AND c.relname = %(relation)s
  AND a.privilege_type = %(privilege)s AND a.grantee <> c.relowner
ORDER BY 1
