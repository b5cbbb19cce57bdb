// Test of the header in C++17: std::unique_ptr closes the stack, and texts become std::string.
#include <callstack.h>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace {

struct Close {
    void operator()(Callstack *stack) const { callstack_close(&stack, nullptr); }
};

CallstackView view(std::string_view text) { return {text.data(), text.size()}; }

// Copies a text of the library to a string, and frees the text.
std::string take(CallstackText &text) {
    std::string copy(text.data, text.len);
    callstack_text_free(&text);
    return copy;
}

}  // namespace

int main() {
    static_assert(CALLSTACK_ABI == 1 && CALLSTACK_OK == 0, "the constants are compile-time constants");
    Callstack *opened = nullptr;
    if (callstack_in_memory(CALLSTACK_NONE, &opened, nullptr) != CALLSTACK_OK)
        return 1;
    const std::unique_ptr<Callstack, Close> stack(opened);
    constexpr std::string_view frame = R"({"title": "Build", "sessionID": "ses_1"})";
    CallstackText handle;
    if (callstack_push(stack.get(), view(frame), &handle, nullptr) != CALLSTACK_OK)
        return 2;
    CallstackContext context;
    if (callstack_context(stack.get(), view(take(handle)), CALLSTACK_NONE, &context, nullptr) != CALLSTACK_OK)
        return 3;
    const std::string xml(context.xml.data, context.xml.len);
    callstack_context_free(&context);
    return xml.find("<title>Build</title>") == std::string::npos ? 4 : 0;
}
