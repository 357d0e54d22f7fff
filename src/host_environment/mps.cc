#include "host_environment/mps.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "base/variables.h"
#include "compute/cuda_api.h"
#include "compute/device.h"

namespace berth {

namespace {

constexpr std::uint64_t mebibyte = 1 << 20;
/// The limit of the client that proves it. Above the driver's own use, which may count.
constexpr std::uint64_t tried_limit = 1024 * mebibyte;
constexpr std::uint64_t above_it = 64 * mebibyte;

/// Why the limit does not hold there; empty: more was refused.
std::string granted_on(const compute::CudaApi& api, const std::string& uuid,
                       const Reading<Bytes>& free) {
  const auto device = compute::make_cuda(api, compute::bare_uuid(uuid));
  if (!device) return device.error().message();
  const auto least = (*device)->allocate(mebibyte);
  if (!least) return least.error().message();
  const auto more = (*device)->allocate(tried_limit + above_it);
  if (more) return "a client of MPS was given more memory than its limit";
  if (!free.get() || free.get()->count() < tried_limit + 2 * above_it) {
    return "too little memory is free there, or it is not known how much, to try a limit of MPS";
  }
  return {};
}

/// In the child.
int ask_each(const MpsQuestion& question) {
  const std::vector<Bytes> limits(question.uuids.size(), Bytes(tried_limit));
  ::setenv("CUDA_MPS_PIPE_DIRECTORY", question.pipes.c_str(), 1);
  ::setenv("CUDA_VISIBLE_DEVICES", joined(question.uuids, ",").c_str(), 1);
  ::setenv(mps_limit_variable, mps_limits(limits).c_str(), 1);
  const auto api = compute::load_cuda_to_compute(question.library);
  for (std::size_t at = 0; at < question.uuids.size(); ++at) {
    const std::string& uuid = question.uuids[at];
    const std::string why =
        api ? granted_on(*api, uuid, question.free.at(at)) : api.error().message();
    if (!why.empty()) return write_all(1, printable(uuid + ": " + why)) ? 0 : 1;
  }
  return write_all(1, "held") ? 0 : 1;
}

}  // namespace

Result<std::string> find_mps(const std::vector<std::string>& environment, uid_t us) {
  const std::string pipes =
      value_of(environment, "CUDA_MPS_PIPE_DIRECTORY").value_or("/tmp/nvidia-mps");
  struct stat folder{};
  struct stat control{};
  if (::stat(pipes.c_str(), &folder) != 0 || ::lstat((pipes + "/control").c_str(), &control) != 0) {
    return fail(ErrorCode::not_found, "no server of MPS has its pipes in {}", printable(pipes));
  }
  // The folder may be anybody's: /tmp lets everybody make it.
  const auto is_trusted = [us](const struct stat& one) {
    return one.st_uid == 0 || one.st_uid == us;
  };
  if (!is_trusted(folder) || !is_trusted(control)) {
    return fail(ErrorCode::no_permission, "the pipes of MPS in {} are another user's",
                printable(pipes));
  }
  return pipes;
}

std::string mps_limits(const std::vector<Bytes>& shares) {
  std::string limits;
  for (std::size_t at = 0; at < shares.size(); ++at) {
    limits += fmt::format("{}{}={}M", at == 0 ? "" : ",", at, shares[at].count() / mebibyte);
  }
  return limits;
}

Result<void> prove_mps_limit(const MpsQuestion& question, Clock& clock) {
  const auto child = ask_child([&] { return ask_each(question); }, clock, question.patience);
  if (!child) return std::unexpected(child.error());
  if (!child->exit) return fail(ErrorCode::unsupported, "a client of MPS did not answer in time");
  if (*child->exit != Exit{}) {
    return fail(ErrorCode::unsupported, "a client of MPS ended without an answer");
  }
  if (child->out != "held") return fail(ErrorCode::unsupported, Sentence(printable(child->out)));
  return {};
}

}  // namespace berth
