/* Stand-ins for libcublas and libcublasLt: a product computes nothing, like a launched kernel.
   Every other name of the real library answers "success": tools/frameworks.py writes those names
   from the library that pip brought. The real ones carry a runtime of their own that asks the
   driver for its proof. */

static int made; /* what handles point at */

int cublasCreate_v2(void** handle) {
  *handle = &made;
  return 0;
}

int cublasLtCreate(void** handle) {
  *handle = &made;
  return 0;
}

int cublasGetVersion_v2(void* handle, int* version) {
  (void)handle;
  *version = 120400;
  return 0;
}

int cublasGetMathMode(void* handle, int* mode) {
  (void)handle;
  *mode = 0;
  return 0;
}

int cublasGetPointerMode_v2(void* handle, int* mode) {
  (void)handle;
  *mode = 0;
  return 0;
}

const char* cublasGetStatusString(int status) {
  return status == 0 ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS_NOT_SUPPORTED";
}

/* One way to do it is found: the caller gives up where there is none. */
int cublasLtMatmulAlgoGetHeuristic(void* handle, void* operation, void* a, void* b, void* c,
                                   void* d, void* preference, int wanted, void* results,
                                   int* found) {
  (void)handle, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)preference;
  (void)wanted, (void)results;
  *found = 1;
  return 0;
}
