// Environment variables: which of them can change a result, which only the speed.

#include <algorithm>
#include <iterator>
#include <map>

#include "base/tr.h"
#include "diagnose/manifest_diff/comparison.h"
#include "snapshot/device_kind_rows.h"

namespace berth {

namespace {

constexpr DifferenceKind for_results{
    "variable", Explains::results,
    as_key("It chooses precision, algorithms, seeds or which files are loaded.")};
constexpr DifferenceKind for_speed{
    "variable", Explains::speed,
    as_key("It changes how work is divided, scheduled or kept in memory, not what is computed.")};
constexpr DifferenceKind threads_on_cpu{
    "variable", Explains::results,
    as_key("On a CPU the number of threads decides in which order sums are made.")};
constexpr DifferenceKind for_neither{
    "variable", Explains::neither,
    as_key("It only names places or devices; which devices a run had is compared by itself.")};

// Names alone end in "=". A variable that is in no list can change a result.
constexpr std::string_view speed_alone[] = {"AMD_LOG_",
                                            "AMD_SERIALIZE_",
                                            "ASCEND_GLOBAL_LOG_LEVEL=",
                                            "ASCEND_LAUNCH_BLOCKING=",
                                            "ASCEND_SLOG_PRINT_TO_STDOUT=",
                                            "CCL_LOG_LEVEL=",
                                            "CCL_WORKER_",
                                            "CPU_AFFINITY_CONF=",
                                            "CUDA_LAUNCH_BLOCKING=",
                                            "CUDA_DEVICE_MAX_CONNECTIONS=",
                                            "CUDA_CACHE_",
                                            "CUDA_MODULE_LOADING=",
                                            "PYTORCH_CUDA_ALLOC_CONF=",
                                            "PYTORCH_ALLOC_CONF=",
                                            "PYTORCH_HIP_ALLOC_CONF=",
                                            "PYTORCH_NPU_ALLOC_CONF=",
                                            "GPU_MAX_HW_QUEUES=",
                                            "HIP_LAUNCH_BLOCKING=",
                                            "MULTI_STREAM_MEMORY_REUSE=",
                                            "SYCL_CACHE_",
                                            "TASK_QUEUE_ENABLE=",
                                            "TF_GPU_THREAD_",
                                            "TF_FORCE_GPU_ALLOW_GROWTH=",
                                            "TF_CPP_",
                                            "PYTHONMALLOC=",
                                            "TORCH_NCCL_",
                                            "HCCL_",
                                            "NCCL_",
                                            "RCCL_"};
constexpr std::string_view threads[] = {"OMP_",    "OPENBLAS_", "NUMEXPR_",          "NUMBA_",
                                        "MKL_",    "KMP_",      "GOTO_NUM_THREADS=", "BLIS_",
                                        "VECLIB_", "TF_NUM_"};
// And what chooses devices.
constexpr std::string_view places_alone[] = {"NVIDIA_VISIBLE_DEVICES=",
                                             "NVIDIA_DRIVER_",
                                             "NVIDIA_REQUIRE_",
                                             "NVIDIA_PRODUCT_",
                                             "SLURM_",
                                             "MASTER_",
                                             "RANK=",
                                             "LOCAL_",
                                             "VIRTUAL_ENV",
                                             "CONDA_",
                                             "BERTH_",
                                             "HF_HOME=",
                                             "ROCM_PATH=",
                                             "ONEAPI_ROOT=",
                                             "CCL_ROOT=",
                                             "ASCEND_HOME_PATH=",
                                             "ASCEND_OPP_PATH=",
                                             "ASCEND_TOOLKIT_HOME=",
                                             "TORCH_HOME="};
// They begin like others and still change a result.
constexpr std::string_view results_all_the_same[] = {
    "NCCL_ALGO=", "NCCL_PROTO=", "HCCL_ALGO=", "HCCL_DETERMINISTIC=", "RCCL_MSCCL", "MKL_CBWR="};

template <class List>
bool is_in(const std::string& name, const List& beginnings) {
  const std::string entry = name + "=";
  return std::any_of(std::begin(beginnings), std::end(beginnings),
                     [&](std::string_view beginning) { return entry.starts_with(beginning); });
}

const DifferenceKind& kind_of_variable(const std::string& name, bool on_cpu) {
  if (is_in(name, results_all_the_same)) return for_results;
  if (is_in(name, threads)) return on_cpu ? threads_on_cpu : for_speed;
  if (is_in(name, speed_alone)) return for_speed;
  const bool shows_devices = contains(told_variables, name) || contains(choosing_variables(), name);
  if (shows_devices || is_in(name, places_alone)) return for_neither;
  return for_results;
}

using Values = std::map<std::string, std::string>;

Told value_in(const Values& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? told(sentence("not set")) : told(found->second);
}

}  // namespace

void compare_variables(const Manifest& a, const Manifest& b, Comparison& into) {
  const bool on_cpu = computes_on_cpu(a) || computes_on_cpu(b);
  const Values of_a(a.variables.begin(), a.variables.end());
  const Values of_b(b.variables.begin(), b.variables.end());
  Values all = of_a;
  all.insert(of_b.begin(), of_b.end());
  for (const auto& [name, unused] : all) {
    const DifferenceKind& kind = kind_of_variable(name, on_cpu);
    const Sentence what = sentence("variable {}", name);
    const Told in_a = value_in(of_a, name);
    const Told in_b = value_in(of_b, name);
    const bool is_masked = in_a.value->english().find("***") != std::string::npos;
    if (is_masked && in_a.value == in_b.value) {
      into.cannot_compare(kind, what, NotComparable::Side::both,
                          sentence("it is a secret, and masked"));
    } else {
      into.compare(kind, what, in_a, in_b);
    }
  }
}

}  // namespace berth
