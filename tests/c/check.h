/* Shared by the C tests: checks that print the place of a failure, and functions for calls that must succeed. */
#ifndef CHECK_H
#define CHECK_H

#include <callstack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(text) callstack_view(text)

/* Ends the program if a condition is false. */
#define CHECK(condition)                                                             \
    do {                                                                             \
        if (!(condition)) {                                                          \
            fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)

/* Ends the program if two texts differ. */
#define CHECK_TEXT(found, expected)                                                                       \
    do {                                                                                                  \
        const char *found_ = (found), *expected_ = (expected);                                            \
        if (found_ == NULL || strcmp(found_, expected_) != 0) {                                           \
            fprintf(stderr, "%s:%d: found `%s`, expected `%s`\n", __FILE__, __LINE__,                     \
                    found_ ? found_ : "NULL", expected_);                                                 \
            exit(1);                                                                                      \
        }                                                                                                 \
    } while (0)

/* Makes a call whose last argument is &error, and ends the program if the call fails. */
#define OK(call)                                                                                                  \
    do {                                                                                                          \
        CallstackError *error = NULL;                                                                             \
        CallstackCode code_ = (call);                                                                             \
        if (code_ != CALLSTACK_OK || error != NULL) {                                                             \
            fprintf(stderr, "%s:%d: error %d: %s\n", __FILE__, __LINE__, (int)code_,                              \
                    callstack_error_message(error));                                                              \
            exit(1);                                                                                              \
        }                                                                                                         \
    } while (0)

/* Makes a call whose last argument is &error, and ends the program unless the call fails with this code. */
#define FAILS(expected_code, call)                                                                                \
    do {                                                                                                          \
        CallstackError *error = NULL;                                                                             \
        CallstackCode code_ = (call);                                                                             \
        if (code_ != (expected_code) || callstack_error_code(error) != code_) {                                   \
            fprintf(stderr, "%s:%d: code %d (%s), expected %s\n", __FILE__, __LINE__, (int)code_,                 \
                    callstack_error_message(error), #expected_code);                                              \
            exit(1);                                                                                              \
        }                                                                                                         \
        CHECK(callstack_error_message(error)[0] != '\0');                                                         \
        callstack_error_free(&error);                                                                             \
        CHECK(error == NULL);                                                                                     \
    } while (0)

static inline Callstack *open_folder(const char *folder) {
    Callstack *stack = NULL;
    OK(callstack_open(TEXT(folder), CALLSTACK_NONE, &stack, &error));
    CHECK(stack != NULL);
    return stack;
}

static inline Callstack *in_memory(void) {
    Callstack *stack = NULL;
    OK(callstack_in_memory(CALLSTACK_NONE, &stack, &error));
    CHECK(stack != NULL);
    return stack;
}

/* Whether a text contains another one. Views do not end in NUL. */
static inline int contains(CallstackView text, const char *part) {
    size_t at, len = strlen(part);
    for (at = 0; at + len <= text.len; at++) {
        if (memcmp(text.data + at, part, len) == 0)
            return 1;
    }
    return 0;
}

static inline int begins_with(CallstackView text, const char *part) {
    size_t len = strlen(part);
    return text.len >= len && memcmp(text.data, part, len) == 0;
}

static inline CallstackContext context_of(Callstack *stack, const char *frame) {
    CallstackContext context;
    OK(callstack_context(stack, TEXT(frame), CALLSTACK_NONE, &context, &error));
    CHECK(context.owner != NULL);
    return context;
}

static inline void push(Callstack *stack, const char *frame) {
    OK(callstack_push(stack, TEXT(frame), NULL, &error));
}

static inline void close_stack(Callstack *stack) {
    OK(callstack_close(&stack, &error));
    CHECK(stack == NULL);
}

#endif
