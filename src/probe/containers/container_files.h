#pragma once
// ContainerFiles: what container runtimes call the containers that processes are in, read from the
// runtimes' own files. No daemon is asked: its socket is root's, and it may hang. Most of the files
// are for root alone or for the containers' owner. Everybody else is told so and sees the id.
// A home directory may be on a server that does not answer: call it in a probe process.

#include <string>
#include <string_view>

#include "base/reading.h"
#include "base/result.h"
#include "snapshot/process.h"

namespace berth {

struct ContainerSource {
  std::string root;  // stands before every path, those of home directories included
  std::string passwd = "/etc/passwd";
};

struct ContainerNames {
  Reading<std::string> name;
  Reading<std::string> image;
};

class ContainerFiles {
 public:
  explicit ContainerFiles(ContainerSource source) : source_(std::move(source)) {}

  /// What Enclosure::name and ::image are to say.
  [[nodiscard]] ContainerNames names_of(const Enclosure& enclosure) const;

 private:
  class Search;
  void search_docker(const Enclosure& enclosure, Search& search) const;
  void search_storage(const Enclosure& enclosure, Search& search) const;
  void search_bundles(const Enclosure& enclosure, Search& search) const;
  void search_pod_logs(const Enclosure& enclosure, Search& search) const;
  [[nodiscard]] std::string at(std::string_view path) const;
  [[nodiscard]] std::optional<std::string> home_of(uid_t uid) const;
  /// Whose the container is: what lies in a home is read as its owner.
  [[nodiscard]] static Result<std::string> read(const Enclosure& enclosure,
                                                const std::string& folder, const std::string& name);

  ContainerSource source_;
};

}  // namespace berth
