#pragma once
// What others took of the run's devices while it ran, by its own samples. It is the memory in use
// on a device, less what the run's processes hold there. The driver's own share does not change, so
// growth is somebody's.

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "record/sample.h"

namespace berth {

/// The memory that others held on one device: when the run began, and last.
struct NeighbourGrowth {
  std::size_t device = 0;  // position in Manifest::given.devices
  Bytes before{0};
  Bytes last{0};
  Bytes used_last{0};  // of the device, the run's own included
  WallTime seen_last;
  /// By the processes that the driver lists. A user who was not there held nothing.
  struct User {
    std::string name;  // empty: cannot be seen
    Bytes before{0};
    Bytes last{0};
    friend bool operator==(const User&, const User&) = default;
  };
  std::vector<User> users;
  [[nodiscard]] Bytes grown() const { return minus(last, before).value_or(Bytes(0)); }
};

/// Takes a run's samples, oldest first.
class NeighbourWatch {
 public:
  void add(const Sample& sample);
  /// Devices on which others hold more than when it began; too short a run has none.
  [[nodiscard]] std::vector<NeighbourGrowth> growths() const;

 private:
  struct NeighbourLook {
    WallTime at;
    Bytes others{0};
    Bytes used{0};
    std::map<std::string, Bytes> users;
  };
  /// Memory in use and a process's own are read one after the other. So one look alone may count
  /// what the run has just taken as others', or the reverse. The beginning is therefore the most of
  /// the first looks, and the end the least of the last ones.
  static constexpr std::size_t looks = 3;
  struct WatchedNeighbour {
    std::vector<NeighbourLook> first;
    std::vector<NeighbourLook> last;
    std::set<pid_t> own;
  };
  static std::optional<NeighbourLook> look_at(std::size_t device, const Sample& sample,
                                              std::set<pid_t>& own);
  static void add_look(NeighbourLook look, std::set<pid_t> own, WatchedNeighbour& watched);
  std::vector<WatchedNeighbour> devices_;
};

}  // namespace berth
