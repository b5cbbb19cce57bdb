/* Pushes and pops frames and prints a context: cc quickstart.c $(pkg-config --cflags --libs callstack) */
#include <callstack.h>
#include <stdio.h>
#include <string.h>

#define TEXT(text) (text), strlen(text)

int main(void) {
    Callstack *stack = NULL;
    CallstackError *error = NULL;
    CallstackText root = {NULL, 0}, xml = {NULL, 0};
    const char *shop = "{\"title\": \"Build a shop\", \"sessionID\": \"ses_1\"}";
    const char *cart = "{\"title\": \"Shopping cart\", \"sessionID\": \"ses_2\", \"parent\": \"ses_1\"}";
    const char *pay = "{\"title\": \"Pay for the cart\", \"sessionID\": \"ses_3\", \"parent\": \"ses_1\"}";

    /* For a stack on disk: callstack_open(TEXT("some/folder"), NULL, 0, &stack, &error) */
    int ok = callstack_in_memory(NULL, 0, &stack, &error) == CALLSTACK_OK
        && callstack_push(stack, TEXT(shop), &root, &error) == CALLSTACK_OK
        && callstack_push(stack, TEXT(cart), NULL, &error) == CALLSTACK_OK
        && callstack_pop(stack, TEXT("ses_2"), CALLSTACK_STATUS_COMPLETED, TEXT("Cart with totals in src/cart.rs"),
                         TEXT("src/cart.rs: Cart::total()"), NULL, &error) == CALLSTACK_OK
        && callstack_push(stack, TEXT(pay), NULL, &error) == CALLSTACK_OK
        && callstack_context(stack, TEXT("ses_3"), NULL, 0, &xml, NULL, NULL, NULL, &error) == CALLSTACK_OK;

    if (ok)
        printf("The shop is frame %s. The context of its newest task:\n%s\n", root.data, xml.data);
    else
        fprintf(stderr, "%s\n", callstack_error_message(error));
    callstack_text_free(&root);
    callstack_text_free(&xml);
    callstack_error_free(&error);
    callstack_close(&stack, NULL);
    return ok ? 0 : 1;
}
