/* Folds a request to a model: takes the stretches of finished frames out of it.
 *
 *     cc fold.c $(pkg-config --cflags --libs callstack) -o fold && ./fold anthropic < request.json > folded.json
 *
 * The request is read from the standard input; what was folded goes to the standard error. */
#include <callstack.h>
#include <stdio.h>
#include <stdlib.h>

/* Reads a file to its end. The caller frees the bytes; NULL if there is no memory. */
static char *whole(FILE *file, size_t *length) {
    size_t room = 1 << 16;
    char *bytes = malloc(room);
    *length = 0;
    while (bytes && !feof(file) && !ferror(file)) {
        *length += fread(bytes + *length, 1, room - *length, file);
        if (*length == room) {
            char *larger = realloc(bytes, room *= 2);
            if (!larger)
                free(bytes);
            bytes = larger;
        }
    }
    return bytes;
}

int main(int count, char **words) {
    CallstackError *error = NULL;
    CallstackText folded, report;
    CallstackView request = CALLSTACK_NONE;
    char *bytes = whole(stdin, &request.len);
    int is_done = 0;

    request.data = bytes;
    if (bytes
        && callstack_fold(callstack_view(count > 1 ? words[1] : ""), request, CALLSTACK_NONE, &folded, &report, &error)
               == CALLSTACK_OK) {
        fwrite(folded.data, 1, folded.len, stdout);
        fprintf(stderr, "%s\n", report.data);
        callstack_text_free(&folded);
        callstack_text_free(&report);
        is_done = 1;
    } else {
        fprintf(stderr, "fold: %s\n", bytes ? callstack_error_message(error) : "no memory");
    }
    callstack_error_free(&error);
    free(bytes);
    return is_done ? 0 : 1;
}
