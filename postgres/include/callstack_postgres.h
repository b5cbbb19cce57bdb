/* Stacks in PostgreSQL for C programs, beside callstack.h. `make native-postgres` builds the library, which has all functions of
 * both headers. */
#ifndef CALLSTACK_POSTGRES_H
#define CALLSTACK_POSTGRES_H

#include "callstack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens the stack of a URL, and makes it if it does not exist. It is used and closed like a stack of `callstack_open`.
 *
 * - `url` (text): postgres://USER:PASSWORD@HOST:PORT/DATABASE/TENANT/STACK?OPTIONS; docs/scale.md describes it. Must not be empty.
 * - `options` (StackOptions, optional): as for `callstack_open`.
 * - `out_stack` (Stack): the stack. Must not be NULL. The caller closes it with `callstack_close`.
 *
 * Errors: _EMPTY and _SETTING for the URL, _JSON and _SETTING for the options, _DISCONNECTED if the server cannot be reached, and the
 * storage errors. */
CallstackCode callstack_open_url(CallstackView url, CallstackView options, Callstack **out_stack,
                                 CallstackError **error);

#ifdef __cplusplus
}
#endif

#endif
