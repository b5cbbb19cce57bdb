/* The part of Windows' bcryptprimitives.dll that Rust programs use: random numbers. Wine 8 does not have the
   file. Here the random numbers come from RtlGenRandom of advapi32, whose name in the library is
   SystemFunction036. Build it with
   zig cc -target x86_64-windows-gnu -shared -o bcryptprimitives.dll bcryptprimitives.c -ladvapi32 */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T length)
{
    while (length > 0) {
        ULONG part = length > 0x10000000 ? 0x10000000 : (ULONG)length;
        if (!SystemFunction036(buffer, part))
            return FALSE;
        buffer += part;
        length -= part;
    }
    return TRUE;
}
