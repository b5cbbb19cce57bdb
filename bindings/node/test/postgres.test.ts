// Stacks in PostgreSQL, with the native library that `make native-postgres` builds.
