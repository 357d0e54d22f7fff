/* What a driver's library shows, in little: functions, and data with and without content. */

#define EXPORT __attribute__((visibility("default")))

EXPORT int cudbgSmallText[4] = {1, 2, 3, 4};
EXPORT char cudbgAligned[40] __attribute__((aligned(64))) = "aligned";
EXPORT long cudbgZero;

EXPORT int cuInit(unsigned flags) { return flags == 0 ? 0 : 1; }
EXPORT int cuDriverGetVersion(int* version) {
  *version = 12020;
  return 0;
}
EXPORT long cuSumOfSeven(long a, long b, long c, long d, long e, long f, long g) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g;
}
EXPORT __attribute__((weak)) int cuIsWeak(void) { return 42; }
__attribute__((visibility("hidden"))) int cuIsHidden(void) { return 0; }
EXPORT int cuCallsHidden(void) { return cuIsHidden(); }
EXPORT int cuGLRegisterBufferObject(unsigned buffer) { return (int)buffer; }
