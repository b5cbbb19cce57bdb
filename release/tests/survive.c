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

#define TEXT(text) (text), strlen(text)

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
    must(callstack_open(TEXT(folder), TEXT("{\"durability\": \"full\"}"), &stack, &error), &error);
    must(callstack_ensure(stack, TEXT("tasks"), TEXT("Tasks"), NULL, 0, NULL, &error), &error);
    return stack;
}

static void write_until_killed(const char *folder) {
    Callstack *stack = opened(folder);
    for (;;) {
        CallstackError *error = NULL;
        CallstackText handle = {NULL, 0};
        must(callstack_push(stack, TEXT("{\"title\": \"A task\", \"parent\": \"tasks\"}"), &handle, &error), &error);
        printf("%s\n", handle.data);
        fflush(stdout);
        callstack_text_free(&handle);
    }
}

static void check(const char *folder, const char *last) {
    CallstackError *error = NULL;
    CallstackText context = {NULL, 0}, frame = {NULL, 0};
    Callstack *stack = opened(folder);
    must(callstack_context(stack, TEXT(last), NULL, 0, &context, NULL, NULL, NULL, &error), &error);
    if (strstr(context.data, "<title>A task</title>") == NULL) {
        fprintf(stderr, "the context has no title: %s\n", context.data);
        exit(1);
    }
    must(callstack_pop(stack, TEXT(last), CALLSTACK_STATUS_COMPLETED, TEXT("Done after a kill."), NULL, 0, NULL, &error),
         &error);
    must(callstack_close(&stack, &error), &error);
    stack = opened(folder);
    must(callstack_frame(stack, TEXT(last), &frame, &error), &error);
    if (strstr(frame.data, "Done after a kill.") == NULL) {
        fprintf(stderr, "the results are lost: %s\n", frame.data);
        exit(1);
    }
    must(callstack_close(&stack, &error), &error);
    callstack_text_free(&context);
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
