// The interpreter, its packages and the CUDA they bring along.

#include <algorithm>
#include <map>
#include <optional>

#include "base/tr.h"
#include "diagnose/manifest_diff/comparison.h"

namespace berth {

namespace {

constexpr DifferenceKind interpreter{
    "python", Explains::results,
    as_key("Another Python hashes, sorts and draws random numbers in its own way where a program "
           "relies on it.")};
constexpr DifferenceKind framework{
    "framework", Explains::results,
    as_key("Another version of a framework chooses other kernels, defaults and initial values.")};
constexpr DifferenceKind cuda_build{
    "cuda_build", Explains::results,
    as_key("Built for another CUDA a framework brings other kernels; built without, it computes on "
           "the CPU.")};
constexpr DifferenceKind cuda_library{
    "cuda_library", Explains::results,
    as_key("cuBLAS, cuDNN and NCCL choose algorithms by their version: sums come in another "
           "order.")};
constexpr DifferenceKind package{
    "package", Explains::results,
    as_key("What prepares data or computes beside the framework computes differently by its "
           "version.")};
constexpr DifferenceKind toolkit{
    "toolkit", Explains::speed,
    as_key("The CUDA toolkit matters to what is compiled on this machine, not to what frameworks "
           "bring along.")};
constexpr DifferenceKind path{
    "python_path", Explains::neither,
    as_key("Where the interpreter lies says nothing: its version and packages stand above.")};

using Versions = std::map<std::string, std::string>;

const DifferenceKind& kind_of(const std::string& name) {
  if (name.starts_with("nvidia_") || name == "triton" || name.starts_with("cupy")) {
    return cuda_library;
  }
  for (const char* one : {"torch", "tensorflow", "jax", "jaxlib", "keras", "flax"}) {
    if (name == one) return framework;
  }
  return package;
}

Told version_in(const Versions& versions, const std::string& name) {
  const auto found = versions.find(name);
  return found == versions.end() ? told(sentence("not installed")) : told(found->second);
}

void compare_packages(const PythonFacts& a, const PythonFacts& b, Comparison& into) {
  const Versions of_a(a.packages.begin(), a.packages.end());
  const Versions of_b(b.packages.begin(), b.packages.end());
  Versions all = of_a;
  all.insert(of_b.begin(), of_b.end());
  for (const auto& [name, unused] : all) {
    into.compare(kind_of(name), Sentence::as_is(name), version_in(of_a, name),
                 version_in(of_b, name));
  }
}

/// "3.11" beside "3.11.2": as far as it is known the same.
bool is_begin_of(const std::optional<std::string>& part, const std::optional<std::string>& whole) {
  return part && whole && (whole->starts_with(*part + ".") || *whole == *part);
}

void compare_versions(const PythonFacts& a, const PythonFacts& b, Comparison& into) {
  const auto& of_a = a.version.get();
  const auto& of_b = b.version.get();
  if (is_begin_of(of_a, of_b) || is_begin_of(of_b, of_a)) return;
  into.compare(interpreter, sentence("Python"), told(a.version), told(b.version));
}

Told cuda_of(const FrameworkFacts& framework) {
  return told(framework.cuda, [](const std::string& cuda) {
    return cuda.empty() ? sentence("none: built without CUDA") : Sentence::as_is(cuda);
  });
}

void compare_builds(const PythonFacts& a, const PythonFacts& b, Comparison& into) {
  for (const FrameworkFacts& one : a.frameworks) {
    const auto other = std::ranges::find(b.frameworks, one.name, &FrameworkFacts::name);
    if (other == b.frameworks.end()) continue;  // told as a package
    into.compare(cuda_build, sentence("CUDA that {} was built for", one.name), cuda_of(one),
                 cuda_of(*other));
  }
}

void compare_toolkits(const ToolkitFacts& a, const ToolkitFacts& b, Comparison& into) {
  into.compare(toolkit, sentence("CUDA toolkit (nvcc)"), told(a.nvcc_version),
               told(b.nvcc_version));
  const Versions of_a(a.libraries.begin(), a.libraries.end());
  const Versions of_b(b.libraries.begin(), b.libraries.end());
  Versions all = of_a;
  all.insert(of_b.begin(), of_b.end());
  for (const auto& [name, unused] : all) {
    // The driver's own come and go with the driver.
    if (name == "libcuda" || name == "libnvidia-ml") continue;
    into.compare(cuda_library, Sentence::as_is(name), version_in(of_a, name),
                 version_in(of_b, name));
  }
}

}  // namespace

void compare_python(const Manifest& a, const Manifest& b, Comparison& into) {
  if (a.toolkit && b.toolkit) compare_toolkits(*a.toolkit, *b.toolkit, into);
  if (!a.python && !b.python) return;
  if (!a.python || !b.python) {
    into.cannot_compare(interpreter, sentence("Python and its packages"),
                        a.python ? NotComparable::Side::b : NotComparable::Side::a,
                        sentence("no Python was found there, or the command does not name one"));
    return;
  }
  compare_versions(*a.python, *b.python, into);
  compare_packages(*a.python, *b.python, into);
  compare_builds(*a.python, *b.python, into);
  into.compare(path, sentence("interpreter"), told(a.python->interpreter),
               told(b.python->interpreter));
}

}  // namespace berth
