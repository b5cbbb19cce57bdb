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
    writes boolean NOT NULL,
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

-- The heads of a stack's newest snapshot and of its base, which the events of a compacted history follow. The
-- newest snapshot has the unfinished trees in one piece too.
CREATE TABLE callstack.heads (
    tenant int NOT NULL,
    stack bigint NOT NULL,
    is_base boolean NOT NULL,
    revision bigint NOT NULL,
    head text NOT NULL,
    unfinished bytea NOT NULL DEFAULT '',
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
-- An entry of an index can have at most some 2,700 bytes.
CREATE INDEX frames_by_id ON callstack.frames (stack, substring(session_id FOR 200));
CREATE INDEX frames_by_status ON callstack.frames (stack, status);
CREATE INDEX frames_by_title ON callstack.frames (stack, title);
CREATE INDEX frames_by_tree ON callstack.frames (stack, tree, changed);
CREATE INDEX roots ON callstack.frames (stack, place) WHERE place IS NOT NULL;
CREATE INDEX runs ON callstack.frames (stack, handle) WHERE is_run;

-- Frames of the base that have changed since.
CREATE TABLE callstack.base_frames (LIKE callstack.frames, PRIMARY KEY (stack, handle));
CREATE INDEX base_frames_by_tree ON callstack.base_frames (stack, tree);

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

-- The words of frames and of their logs, for searches: the frames with a word that one search has added.
CREATE TABLE callstack.words (
    tenant int NOT NULL,
    stack bigint NOT NULL,
    word text COLLATE "C" NOT NULL,
    part bigint NOT NULL,
    is_log boolean NOT NULL,
    frames bigint[] NOT NULL,
    PRIMARY KEY (stack, word, part, is_log)
);

-- What the words come from: the history up to a revision, in the row with the handle 0, and lines of logs.
CREATE TABLE callstack.indexed (
    tenant int NOT NULL,
    stack bigint NOT NULL,
    handle bigint NOT NULL,
    revision bigint NOT NULL DEFAULT 0,
    mark bigint NOT NULL DEFAULT 0,
    parts bigint NOT NULL DEFAULT 0,
    lines bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (stack, handle)
);

-- A new stack is not in the statistics of the server. The server would then assume that the stack has very
-- few rows, and read all of them to find one. Without statistics of this column it takes a stack for a share
-- of the table, and looks for the other columns too.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY '{events,heads,frames,base_frames,logs,words,indexed}'::text[] LOOP
        EXECUTE format('ALTER TABLE callstack.%I ALTER COLUMN stack SET STATISTICS 0', name);
    END LOOP;
END $$;

-- The statements of each command are functions, because the server keeps the plans of their statements, which take longer to make than
-- they take to run.

-- Locks a stack. Returns its row, and then at most `most` events that follow the known one. The known event
-- comes first, without its text.
CREATE FUNCTION callstack.lock(stack bigint, known bigint, most int) RETURNS TABLE (
    revision bigint, writer bigint, snapshot bigint, base bigint, event text
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    newest bigint;
BEGIN
    RETURN QUERY SELECT stacks.revision, stacks.writer, stacks.snapshot, stacks.base, NULL::text FROM callstack.stacks
        WHERE stacks.id = lock.stack FOR NO KEY UPDATE;
    -- A role that may only read the stack cannot lock it.
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- What others have committed while this one waited is visible to the next statement.
    SELECT stacks.revision INTO newest FROM callstack.stacks WHERE stacks.id = lock.stack;
    IF newest > lock.known THEN
        RETURN QUERY SELECT events.revision, events.writer, NULL::bigint, NULL::bigint,
            CASE WHEN events.revision > lock.known THEN events.event END FROM callstack.events
            WHERE events.stack = lock.stack AND events.revision >= lock.known ORDER BY events.revision LIMIT lock.most;
    END IF;
END $$;

-- The row of a stack, and the writer of the known event, if it is not the newest one.
CREATE FUNCTION callstack.look(stack bigint, known bigint) RETURNS TABLE (
    revision bigint, writer bigint, snapshot bigint, base bigint, writer_of_known bigint
) LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT stacks.revision, stacks.writer, stacks.snapshot, stacks.base,
        CASE WHEN stacks.revision > look.known THEN (SELECT events.writer FROM callstack.events
            WHERE events.stack = look.stack AND events.revision = look.known) END
        FROM callstack.stacks WHERE stacks.id = look.stack;
END $$;

-- Notes the newest event of a commit, if its events follow the newest one before. Returns the tenant.
CREATE FUNCTION callstack.note_newest(stack bigint, follows bigint, newest bigint, writer bigint) RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    of_tenant int;
BEGIN
    UPDATE callstack.stacks SET revision = note_newest.newest, writer = note_newest.writer
        WHERE stacks.id = note_newest.stack AND stacks.revision = note_newest.follows RETURNING stacks.tenant INTO of_tenant;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the newest event of the stack is not %', note_newest.follows
            USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN of_tenant;
END $$;

-- Writes the events of a commit, if they follow the newest one.
CREATE FUNCTION callstack.append(
    stack bigint, follows bigint, writer bigint, handles bigint[], kinds text[], events text[]
) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    of_tenant int := callstack.note_newest(append.stack, append.follows, append.follows + cardinality(append.events), append.writer);
BEGIN
    INSERT INTO callstack.events (tenant, stack, revision, writer, handle, kind, event)
        SELECT of_tenant, append.stack, append.follows + new.place, append.writer, new.handle, new.kind, new.event
        FROM unnest(append.handles, append.kinds, append.events) WITH ORDINALITY AS new (handle, kind, event, place);
END $$;

-- The tenants that the current role may read, or change. Each statement asks once. The bodies are bound to
-- the functions that they name now, and all functions here name those of the system: no role can replace them
-- by others through a search path.
CREATE FUNCTION callstack.readable_tenants() RETURNS int[] LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT coalesce(pg_catalog.array_agg(members.tenant), '{}') FROM callstack.members
        WHERE pg_catalog.pg_has_role(current_user, members.role, 'USAGE');
END;
CREATE FUNCTION callstack.writable_tenants() RETURNS int[] LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT coalesce(pg_catalog.array_agg(members.tenant), '{}') FROM callstack.members
        WHERE members.writes AND pg_catalog.pg_has_role(current_user, members.role, 'USAGE');
END;

-- A role sees what it was granted, and not what others were.
ALTER TABLE callstack.members ENABLE ROW LEVEL SECURITY;
CREATE POLICY reading ON callstack.members FOR SELECT USING (pg_catalog.pg_has_role(current_user, role, 'USAGE'));
ALTER TABLE callstack.tenants ENABLE ROW LEVEL SECURITY;
CREATE POLICY reading ON callstack.tenants FOR SELECT USING (id = ANY ((SELECT callstack.readable_tenants())::int[]));

-- A role that writes a row names a stack of the row's tenant: no role takes the revisions of the stack of
-- another tenant.
DO $$
DECLARE
    name text;
    is_writable constant text := 'tenant = ANY ((SELECT callstack.writable_tenants())::int[])';
    is_of_stack text;
BEGIN
    FOREACH name IN ARRAY '{stacks,events,heads,frames,base_frames,logs,words,indexed}'::text[] LOOP
        is_of_stack := CASE name WHEN 'stacks' THEN '' ELSE format(' AND EXISTS (SELECT FROM callstack.stacks '
            'WHERE stacks.id = %1$I.stack AND stacks.tenant = %1$I.tenant)', name) END;
        EXECUTE format('ALTER TABLE callstack.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY reading ON callstack.%I FOR SELECT '
            'USING (tenant = ANY ((SELECT callstack.readable_tenants())::int[]))', name);
        EXECUTE format('CREATE POLICY adding ON callstack.%I FOR INSERT WITH CHECK (%s)', name, is_writable || is_of_stack);
        EXECUTE format('CREATE POLICY changing ON callstack.%I FOR UPDATE USING (%s) WITH CHECK (%s)',
            name, is_writable, is_writable || is_of_stack);
        EXECUTE format('CREATE POLICY removing ON callstack.%I FOR DELETE USING (%s)', name, is_writable);
    END LOOP;
END $$;

-- Lets a role read the stacks of a tenant, or change them too. Events are added, and removed by compactions.
CREATE FUNCTION callstack.allow(role text, tenant text, writes boolean) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known oid := (SELECT oid FROM pg_roles WHERE rolname = allow.role);
BEGIN
    IF known IS NULL THEN
        RAISE EXCEPTION 'there is no role %', role USING ERRCODE = 'undefined_object';
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA callstack TO %I', role);
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA callstack TO %I', role);
    IF writes THEN
        EXECUTE format('GRANT INSERT (tenant, name), DELETE, UPDATE (revision, writer, snapshot, base) ON callstack.stacks TO %I', role);
        EXECUTE format('GRANT INSERT, DELETE ON callstack.events, callstack.logs, callstack.words TO %I', role);
        EXECUTE format('GRANT INSERT, UPDATE, DELETE ON callstack.heads, callstack.frames, callstack.base_frames, '
            'callstack.indexed TO %I', role);
    END IF;
    INSERT INTO callstack.tenants (name) VALUES (tenant) ON CONFLICT DO NOTHING;
    INSERT INTO callstack.members SELECT known, id, allow.writes FROM callstack.tenants AS tenants
        WHERE tenants.name = allow.tenant ON CONFLICT ON CONSTRAINT members_pkey DO UPDATE SET writes = excluded.writes;
    PERFORM callstack.limit_role(role);
END $$;

-- Takes from a role what none of its tenants needs: row-level security does not keep it from locking tables.
CREATE FUNCTION callstack.limit_role(role text) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    writes boolean := (SELECT bool_or(members.writes) FROM callstack.members JOIN pg_roles ON pg_roles.oid = members.role
        WHERE pg_roles.rolname = limit_role.role);
BEGIN
    -- The owner needs no grant, and would lose what it has as the owner.
    IF EXISTS (SELECT FROM pg_namespace JOIN pg_roles ON pg_roles.oid = nspowner
        WHERE nspname = 'callstack' AND rolname = limit_role.role) THEN
        RETURN;
    END IF;
    IF writes IS NOT TRUE THEN
        EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA callstack FROM %I', role);
    END IF;
    IF writes IS NULL THEN
        EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA callstack FROM %I', role);
        EXECUTE format('REVOKE USAGE ON SCHEMA callstack FROM %I', role);
    END IF;
END $$;

-- Takes the stacks of a tenant away from a role. Returns false if it had no grant.
CREATE FUNCTION callstack.disallow(role text, tenant text) RETURNS boolean LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM callstack.members USING callstack.tenants, pg_roles
        WHERE pg_roles.rolname = disallow.role AND members.role = pg_roles.oid
        AND members.tenant = tenants.id AND tenants.name = disallow.tenant;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM callstack.limit_role(role);
    RETURN true;
END $$;
REVOKE ALL ON FUNCTION callstack.allow, callstack.disallow, callstack.limit_role FROM PUBLIC;
