/*
 * The test of a C library on its platform:
 *
 *     survive write FOLDER           adds frames until it is killed, and prints the handle of each one that is acknowledged
 *     survive check FOLDER HANDLE    finds that frame after the kill, reads its context, finishes it, and opens again
 */
#include <callstack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program with the message of the library if a call has failed. */
static void must(CallstackCode code, CallstackError **error) {
    if (code == CALLSTACK_OK)
        return;
    fprintf(stderr, "error %d (%s): %s\n", (int)code, callstack_error_name(*error), callstack_error_message(*error));
    callstack_error_free(error);
    exit(1);
}

static Callstack *opened(const char *folder) {
    Callstack *stack = NULL;
    CallstackError *error = NULL;
    CallstackView options = callstack_view("{\"durability\": \"full\"}"), tasks = callstack_view("{\"title\": \"Tasks\"}");
    must(callstack_open(callstack_view(folder), options, &stack, &error), &error);
    must(callstack_ensure(stack, callstack_view("tasks"), tasks, NULL, &error), &error);
    return stack;
}

static void write_until_killed(const char *folder) {
    Callstack *stack = opened(folder);
    CallstackView task = callstack_view("{\"title\": \"A task\", \"parent\": \"tasks\"}");
    for (;;) {
        CallstackError *error = NULL;
        CallstackText handle = {NULL, 0};
        must(callstack_push(stack, task, &handle, &error), &error);
        printf("%s\n", handle.data);
        fflush(stdout);
        callstack_text_free(&handle);
    }
}

/* Whether a text contains another one. Views do not end in NUL. */
static int contains(CallstackView text, const char *part) {
    size_t at, len = strlen(part);
    for (at = 0; at + len <= text.len; at++) {
        if (memcmp(text.data + at, part, len) == 0)
            return 1;
    }
    return 0;
}

static void check(const char *folder, const char *last) {
    CallstackError *error = NULL;
    CallstackText frame = {NULL, 0};
    CallstackContext context;
    CallstackView done = callstack_view("{\"status\": \"completed\", \"results\": \"Done after a kill.\"}");
    Callstack *stack = opened(folder);
    must(callstack_context(stack, callstack_view(last), CALLSTACK_NONE, &context, &error), &error);
    if (!contains(context.xml, "<title>A task</title>")) {
        fprintf(stderr, "the context has no title: %.*s\n", (int)context.xml.len, context.xml.data);
        exit(1);
    }
    must(callstack_pop(stack, callstack_view(last), done, NULL, &error), &error);
    must(callstack_close(&stack, &error), &error);
    stack = opened(folder);
    must(callstack_frame(stack, callstack_view(last), &frame, &error), &error);
    if (strstr(frame.data, "Done after a kill.") == NULL) {
        fprintf(stderr, "the results are lost: %s\n", frame.data);
        exit(1);
    }
    must(callstack_close(&stack, &error), &error);
    callstack_context_free(&context);
    callstack_text_free(&frame);
    printf("%s was found\n", last);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "write") == 0)
        write_until_killed(argv[2]);
    else if (argc == 4 && strcmp(argv[1], "check") == 0)
        check(argv[2], argv[3]);
    else {
        fprintf(stderr, "usage: %s write FOLDER | check FOLDER HANDLE\n", argv[0]);
        return 2;
    }
    return 0;
}
