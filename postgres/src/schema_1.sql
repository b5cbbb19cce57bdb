-- The schema of callstack, version 1. One database has the stacks of many tenants. Each row names its tenant, so that row-level
-- security needs no other table. Texts that may have any character are bytes; JSON has no NUL, which PostgreSQL's texts cannot
-- have.
CREATE SCHEMA callstack;

CREATE TABLE callstack.schema_versions (
    version int PRIMARY KEY,
    oldest int NOT NULL,
    migrated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE callstack.tenants (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE
);

-- The roles that may use a tenant. A role that is a member of such a role may too.
CREATE TABLE callstack.members (
    role oid NOT NULL,
    tenant int NOT NULL REFERENCES callstack.tenants,
    PRIMARY KEY (role, tenant)
);

-- A command locks the row of its stack. The row changes with each commit, so its page has room for the versions of it.
CREATE TABLE callstack.stacks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant int NOT NULL REFERENCES callstack.tenants,
    name text COLLATE "C" NOT NULL,
    revision bigint NOT NULL DEFAULT 0,
    writer bigint NOT NULL DEFAULT 0,
    snapshot bigint NOT NULL DEFAULT 0,
    base bigint NOT NULL DEFAULT 0,
    UNIQUE (tenant, name)
) WITH (fillfactor = 50);

-- The history. A commit writes all its events with the same random number as their writer.
CREATE TABLE callstack.events (
    tenant int NOT NULL,
    stack bigint NOT NULL,
    revision bigint NOT NULL,
    writer bigint NOT NULL,
    handle bigint NOT NULL,
    kind text NOT NULL,
    event text NOT NULL,
    PRIMARY KEY (stack, revision)
);
CREATE INDEX events_of_frames ON callstack.events (stack, handle, revision);

-- The heads of a stack's newest snapshot and of its base, which the events of a compacted history follow.
CREATE TABLE callstack.heads (
    tenant int NOT NULL,
    stack bigint NOT NULL,
    is_base boolean NOT NULL,
    revision bigint NOT NULL,
    head text NOT NULL,
    PRIMARY KEY (stack, is_base)
);

-- The frames of the newest snapshot.
CREATE TABLE callstack.frames (
    tenant int NOT NULL,
    stack bigint NOT NULL,
    handle bigint NOT NULL,
    tree bigint NOT NULL,
    session_id bytea NOT NULL,
    title bigint NOT NULL,
    status text NOT NULL,
    is_run boolean NOT NULL,
    place bigint,
    changed bigint NOT NULL,
    image text NOT NULL,
    PRIMARY KEY (stack, handle)
);
CREATE INDEX frames_by_change ON callstack.frames (stack, changed);
CREATE INDEX frames_by_id ON callstack.frames (stack, session_id);
CREATE INDEX frames_by_status ON callstack.frames (stack, status);
CREATE INDEX frames_by_title ON callstack.frames (stack, title);
CREATE INDEX frames_by_tree ON callstack.frames (stack, tree, changed);
CREATE INDEX roots ON callstack.frames (stack, place) WHERE place IS NOT NULL;
CREATE INDEX runs ON callstack.frames (stack, handle) WHERE is_run;

-- Frames of the base that have changed since.
CREATE TABLE callstack.base_frames (LIKE callstack.frames, PRIMARY KEY (stack, handle));

-- The full logs of frames, a line a row.
CREATE TABLE callstack.logs (
    tenant int NOT NULL,
    stack bigint NOT NULL,
    handle bigint NOT NULL,
    line bigint NOT NULL,
    writer bigint NOT NULL,
    entry text NOT NULL,
    written timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (stack, handle, line)
);

-- Writes the events of a commit, if they follow the newest one. It is a function because the server keeps the plan of its
-- statements, which takes longer to make than they take to run.
CREATE FUNCTION callstack.append(
    stack bigint, follows bigint, writer bigint, handles bigint[], kinds text[], events text[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    of_tenant int;
BEGIN
    UPDATE callstack.stacks SET revision = append.follows + cardinality(append.events), writer = append.writer
        WHERE stacks.id = append.stack AND stacks.revision = append.follows RETURNING stacks.tenant INTO of_tenant;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the newest event of the stack is not %', append.follows USING ERRCODE = 'serialization_failure';
    END IF;
    INSERT INTO callstack.events (tenant, stack, revision, writer, handle, kind, event)
        SELECT of_tenant, append.stack, append.follows + new.place, append.writer, new.handle, new.kind, new.event
        FROM unnest(append.handles, append.kinds, append.events) WITH ORDINALITY AS new (handle, kind, event, place);
END $$;

-- The tenants that the current role may use. Each statement asks once. The body is bound to the functions that it names now: a role
-- cannot put others in their place by its search path.
CREATE FUNCTION callstack.my_tenants() RETURNS int[] LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT coalesce(array_agg(members.tenant), '{}') FROM callstack.members
        WHERE pg_has_role(current_user, members.role, 'USAGE');
END;

ALTER TABLE callstack.tenants ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON callstack.tenants USING (id = ANY ((SELECT callstack.my_tenants())::int[]));
ALTER TABLE callstack.stacks ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON callstack.stacks USING (tenant = ANY ((SELECT callstack.my_tenants())::int[]));

-- Whoever writes a row names a stack of the row's tenant: nobody takes the revisions of somebody else's stack.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY '{events,heads,frames,base_frames,logs}'::text[] LOOP
        EXECUTE format('ALTER TABLE callstack.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY of_tenant ON callstack.%1$I USING (tenant = ANY ((SELECT callstack.my_tenants())::int[])) '
            'WITH CHECK (tenant = ANY ((SELECT callstack.my_tenants())::int[]) AND EXISTS '
            '(SELECT FROM callstack.stacks WHERE stacks.id = %1$I.stack AND stacks.tenant = %1$I.tenant))', name);
    END LOOP;
END $$;

-- Lets a role use a tenant. Events are never changed.
CREATE FUNCTION callstack.allow(role text, tenant text, writes boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA callstack TO %I', role);
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA callstack TO %I', role);
    IF writes THEN
        EXECUTE format('GRANT INSERT, UPDATE (revision, writer, snapshot, base) ON callstack.stacks TO %I', role);
        EXECUTE format('GRANT INSERT, DELETE ON callstack.events TO %I', role);
        EXECUTE format('GRANT INSERT, DELETE ON callstack.logs TO %I', role);
        EXECUTE format('GRANT INSERT, UPDATE, DELETE ON callstack.heads, callstack.frames, callstack.base_frames TO %I', role);
    END IF;
    INSERT INTO callstack.tenants (name) VALUES (tenant) ON CONFLICT DO NOTHING;
    INSERT INTO callstack.members SELECT role::regrole, id FROM callstack.tenants AS tenants WHERE tenants.name = allow.tenant
        ON CONFLICT DO NOTHING;
END $$;

CREATE FUNCTION callstack.disallow(role text, tenant text) RETURNS void LANGUAGE sql AS $$
    DELETE FROM callstack.members USING callstack.tenants
        WHERE members.role = disallow.role::regrole AND members.tenant = tenants.id AND tenants.name = disallow.tenant
$$;
REVOKE ALL ON FUNCTION callstack.allow, callstack.disallow FROM PUBLIC;
