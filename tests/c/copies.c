/* Test of two copies of the library in one process, as two plugins of one host may load them. Each copy has its own
 * SQLite, and when one closes the database, the system drops the POSIX locks of the other. Another process then opens
 * and closes the same folder. No acknowledged push may be lost. */
#define _GNU_SOURCE /* dladdr */
#include "check.h"
#include <dlfcn.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

typedef CallstackCode (*Open)(CallstackView, CallstackView, Callstack **, CallstackError **);
typedef CallstackCode (*Push)(Callstack *, CallstackView, CallstackText *, CallstackError **);
typedef CallstackCode (*Close)(Callstack **, CallstackError **);

/* The functions of the other copy. Its stacks must not be given to those of the first one. */
typedef struct {
    Open open;
    Push push;
    Close close;
} Library;

static void copy_file(const char *from, const char *to) {
    char buffer[1 << 16];
    size_t count;
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    CHECK(in != NULL && out != NULL);
    while ((count = fread(buffer, 1, sizeof buffer, in)) > 0) {
        CHECK(fwrite(buffer, 1, count, out) == count);
    }
    CHECK(fclose(in) == 0 && fclose(out) == 0);
}

/* Loads a copy of the library that this program is linked with. */
static Library load_copy(const char *path) {
    Dl_info info;
    Library library;
    void *handle;
    CHECK(dladdr((void *)(size_t)callstack_open, &info) != 0);
    copy_file(info.dli_fname, path);
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(handle != NULL);
    *(void **)&library.open = dlsym(handle, "callstack_open");
    *(void **)&library.push = dlsym(handle, "callstack_push");
    *(void **)&library.close = dlsym(handle, "callstack_close");
    CHECK(library.open != NULL && library.push != NULL && library.close != NULL);
    CHECK(library.open != callstack_open);
    return library;
}

static void frame_json(char *frame, size_t size, const char *id) {
    snprintf(frame, size, "{\"title\": \"Work\", \"sessionID\": \"%s\", \"parent\": \"root\"}", id);
}

/* Another process opens the folder and closes it. */
static void visit(const char *folder) {
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close_stack(open_folder(folder));
        raise(SIGKILL);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

static const char *const BEFORE[] = {"a1", "a2", "a3"}, *const AFTER[] = {"a4", "a5", "a6"};

/* Works with both copies while others come and go, and is killed. */
static void work(const char *folder) {
    char frame[200], path[4096];
    Callstack *stack, *other = NULL;
    Library copy;
    int i;
    snprintf(path, sizeof path, "%s.copy.so", folder);
    copy = load_copy(path);
    stack = open_folder(folder);
    push(stack, "{\"title\": \"Root\", \"sessionID\": \"root\"}");
    for (i = 0; i < 3; i++) {
        frame_json(frame, sizeof frame, BEFORE[i]);
        push(stack, frame);
    }
    OK(copy.open(TEXT(folder), CALLSTACK_NONE, &other, &error));
    frame_json(frame, sizeof frame, "b1");
    OK(copy.push(other, TEXT(frame), NULL, &error));
    OK(copy.close(&other, &error));
    visit(folder);
    for (i = 0; i < 3; i++) {
        frame_json(frame, sizeof frame, AFTER[i]);
        push(stack, frame);
    }
    raise(SIGKILL);
}

int main(int argc, char **argv) {
    Callstack *stack;
    CallstackText state;
    pid_t worker;
    int i, status;
    CHECK(argc == 2);
    worker = fork();
    CHECK(worker >= 0);
    if (worker == 0) {
        work(argv[1]);
    }
    CHECK(waitpid(worker, &status, 0) == worker && WIFSIGNALED(status));

    stack = open_folder(argv[1]);
    OK(callstack_state(stack, &state, &error));
    for (i = 0; i < 3; i++) {
        char id[32];
        snprintf(id, sizeof id, "\"%s\"", BEFORE[i]);
        CHECK(strstr(state.data, id) != NULL);
        snprintf(id, sizeof id, "\"%s\"", AFTER[i]);
        CHECK(strstr(state.data, id) != NULL);
    }
    CHECK(strstr(state.data, "\"b1\"") != NULL);
    callstack_text_free(&state);
    close_stack(stack);
    return 0;
}
