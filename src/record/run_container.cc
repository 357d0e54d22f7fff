#include "record/run_container.h"

#include <algorithm>

#include "base/archive.h"
#include "base/fd.h"
#include "record/record_document.h"
#include "record/record_writer.h"
#include "snapshot/walk.h"

namespace berth {

namespace {
constexpr std::string_view container_format = "berth-run-container";
constexpr int container_version = 1;
}  // namespace

void walk(Archive& archive, RunContainer& container) {
  archive.member("engine", container.engine);
  archive.member("engine_words", container.engine_words);
  archive.member("environment", container.environment);
  archive.member("added", container.added);
  archive.member("cid_file", container.cid_file);
  archive.member("id", container.id);
  archive.member("image", container.image);
  archive.member("image_id", container.image_id);
  archive.member("image_digest", container.image_digest);
  // Written by a berth that asked podman alone.
  if (archive.is_reading() && container.image_digest.get() == "") {
    container.image_digest = Absent::not_sampled;
  }
  archive.member("process", container.process);
  archive.member("is_left", container.is_left);
  archive.member("ended_unix_ms", container.ended);
  archive.member("exit_code", container.exit_code);
  archive.member("oom_killed", container.oom_killed);
}

std::string run_container_to_json(const RunContainer& container) {
  return document(container_format, container_version, container, walk);
}

Result<RunContainer> run_container_from_json(std::string_view text) {
  return read_document<RunContainer>(text, container_format, container_version, walk);
}

std::optional<RunContainer> run_container_in(const std::string& directory) {
  if (directory.empty()) return std::nullopt;
  const auto text = read_file(directory + "/" + std::string(record_file::container), 1 << 20);
  auto container =
      text ? run_container_from_json(*text) : Result<RunContainer>(std::unexpected(text.error()));
  return container ? std::optional(*std::move(container)) : std::nullopt;
}

std::string short_container_id(std::string_view id) { return std::string(id.substr(0, 12)); }

bool is_container_id(std::string_view id) {
  constexpr std::size_t digits = 64;
  return id.size() == digits && std::ranges::all_of(id, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace berth
