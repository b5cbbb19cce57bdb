/* Measures contexts through the C interface: from the cache, made again, and after a decision. In each
 * round every library is measured, so that load from other processes falls on all of them: contexts LIBRARY… (`make bench-c`).
 * The tree has 63 frames of about 3 KB, eight below each. */
#define _POSIX_C_SOURCE 200809L
#include <callstack.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FRAMES = 63, FAN_OUT = 8, WORDS = 300, ROUNDS = 41, LIBRARIES = 8, KINDS = 3 };
static const char *const NAMES[KINDS] = {"from the cache", "made again", "after a decision"};
static const int CALLS[KINDS] = {5000, 1000, 500};

typedef struct {
    const char *path;
    Callstack *stack;
    CallstackCode (*in_memory)(CallstackView, Callstack **, CallstackError **);
    CallstackCode (*push)(Callstack *, CallstackView, CallstackText *, CallstackError **);
    CallstackCode (*pop)(Callstack *, CallstackView, CallstackView, CallstackText *, CallstackError **);
    CallstackCode (*context)(const Callstack *, CallstackView, CallstackView, CallstackContext *, CallstackError **);
    CallstackCode (*clear_cache)(const Callstack *, CallstackView, CallstackError **);
    CallstackCode (*add_decision)(Callstack *, CallstackView, CallstackView, CallstackError **);
    void (*context_free)(CallstackContext *);
    double rounds[KINDS][ROUNDS];
} Library;

static void check(int is_true, const char *what) {
    if (!is_true) {
        fprintf(stderr, "%s failed\n", what);
        exit(1);
    }
}

static void *symbol(void *handle, const char *name) {
    void *found = dlsym(handle, name);
    check(found != NULL, name);
    return found;
}

/* Copies the address of a function, which ISO C does not convert. */
#define LOAD(library, handle, name) \
    do { void *found_ = symbol(handle, "callstack_" #name); memcpy(&(library)->name, &found_, sizeof found_); } while (0)

/* Words that are the same in each run. */
static void words(char *text, size_t room, unsigned seed) {
    static const char *const LIST[] = {"parser", "reads", "option", "file", "token", "budget", "frame", "result", "cache",
                                       "total", "order", "invoice", "route", "test", "limit", "error"};
    size_t length = 0;
    text[0] = '\0';
    for (int word = 0; word < WORDS && length + 12 < room; word++) {
        seed = seed * 1103515245u + 12345u;
        length += (size_t)snprintf(text + length, room - length, "%s ", LIST[(seed >> 16) % 16]);
    }
}

static void id_of(char *text, size_t room, int frame) { snprintf(text, room, "ses_%d", frame); }

static void open_library(Library *library, const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    check(handle != NULL, path);
    library->path = path;
    LOAD(library, handle, in_memory);
    LOAD(library, handle, push);
    LOAD(library, handle, pop);
    LOAD(library, handle, context);
    LOAD(library, handle, clear_cache);
    LOAD(library, handle, add_decision);
    LOAD(library, handle, context_free);
    check(library->in_memory(CALLSTACK_NONE, &library->stack, NULL) == CALLSTACK_OK, "callstack_in_memory");
    char id[32], parent[32], text[4000], frame[5000], pop[5000];
    for (int number = 0; number < FRAMES; number++) {
        id_of(id, sizeof id, number);
        id_of(parent, sizeof parent, (number - 1) / FAN_OUT);
        words(text, 1000, (unsigned)number);
        snprintf(frame, sizeof frame, "{\"title\": \"Task %d of the %.20s\", \"sessionID\": \"%s\", \"successCriteria\": \"%s\"%s%s%s}",
                 number, text, id, text, number ? ", \"parent\": \"" : "", number ? parent : "", number ? "\"" : "");
        check(library->push(library->stack, callstack_view(frame), NULL, NULL) == CALLSTACK_OK, "callstack_push");
    }
    /* The last frame and its ancestors stay open. */
    int is_open[FRAMES] = {0};
    for (int number = FRAMES - 1; number > 0; number = (number - 1) / FAN_OUT) is_open[number] = 1;
    for (int number = FRAMES - 2; number > 0; number--) {
        if (is_open[number]) continue;
        id_of(id, sizeof id, number);
        words(text, 2000, (unsigned)number + 1000);
        snprintf(pop, sizeof pop, "{\"status\": \"completed\", \"results\": \"%s\", \"resultsCompacted\": \"%.200s\"}",
                 text, text);
        check(library->pop(library->stack, callstack_view(id), callstack_view(pop), NULL, NULL) == CALLSTACK_OK, "callstack_pop");
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

/* Makes one context, after what its kind asks for. */
static void make(Library *library, const char *id, int kind, int number) {
    if (kind == 1) check(library->clear_cache(library->stack, CALLSTACK_NONE, NULL) == CALLSTACK_OK, "callstack_clear_cache");
    if (kind == 2) {
        char decision[32];
        snprintf(decision, sizeof decision, "decision %d", number % 20);
        check(library->add_decision(library->stack, callstack_view(id), callstack_view(decision), NULL) == CALLSTACK_OK,
              "callstack_add_decision");
    }
    CallstackContext context;
    check(library->context(library->stack, callstack_view(id), CALLSTACK_NONE, &context, NULL) == CALLSTACK_OK,
          "callstack_context");
    library->context_free(&context);
}

static int compare(const void *one, const void *other) {
    double left = *(const double *)one, right = *(const double *)other;
    return (left > right) - (left < right);
}

int main(int count, char **paths) {
    static Library libraries[LIBRARIES];
    if (count < 2 || count - 1 > LIBRARIES) {
        fprintf(stderr, "usage: contexts LIBRARY… (at most %d)\n", LIBRARIES);
        return 2;
    }
    for (int index = 1; index < count; index++) open_library(&libraries[index - 1], paths[index]);
    char id[32];
    id_of(id, sizeof id, FRAMES - 1);
    for (int round = 0; round < ROUNDS; round++)
        for (int kind = 0; kind < KINDS; kind++)
            for (int index = 0; index < count - 1; index++) {
                double begun = now();
                for (int number = 0; number < CALLS[kind]; number++) make(&libraries[index], id, kind, number);
                libraries[index].rounds[kind][round] = (now() - begun) / CALLS[kind];
            }
    for (int kind = 0; kind < KINDS; kind++)
        for (int index = 0; index < count - 1; index++) {
            qsort(libraries[index].rounds[kind], ROUNDS, sizeof(double), compare);
            double median = libraries[index].rounds[kind][ROUNDS / 2];
            printf("%-17s %8.3f µs, %.2f times that of the first library: %s\n", NAMES[kind], median,
                   median / libraries[0].rounds[kind][ROUNDS / 2], libraries[index].path);
        }
    return 0;
}
