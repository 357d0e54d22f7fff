// Two ordinary users in a root-owned ledger, with fs.protected_regular=2 where that may be set.
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>

#include "base/lock.h"
#include "base/text.h"
#include "lease/setup.h"
#include "stress/jobs.h"

namespace berth::stress {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uid_t ann = 65533;
constexpr uid_t bob = 65532;
constexpr const char* protected_regular = "/proc/sys/fs/protected_regular";

/// Sets it to 2 and puts back what was there.
class ProtectedRegular {
 public:
  ProtectedRegular() : before_(trimmed(read_file(protected_regular).value_or(""))) {
    set_ = write("2") && trimmed(read_file(protected_regular).value_or("")) == "2";
  }
  ~ProtectedRegular() { static_cast<void>(write(before_)); }
  ProtectedRegular(const ProtectedRegular&) = delete;
  ProtectedRegular& operator=(const ProtectedRegular&) = delete;
  [[nodiscard]] bool is_set() const { return set_; }

 private:
  static bool write(const std::string& text) {
    const auto file = open_fd(protected_regular, O_WRONLY);
    return file && write_all(file->get(), text);
  }
  std::string before_;
  bool set_ = false;
};

void become(uid_t uid) {
  if (::setgroups(0, nullptr) != 0 || ::setgid(uid) != 0 || ::setuid(uid) != 0) {
    give_up("cannot become an ordinary user");
  }
}

int short_job(const Scene& scene, int number) {
  SystemClock clock;
  Ledger ledger = open_ledger(scene, clock, LedgerPlace::Kind::shared);
  const TakeSnapshot look = [] { return Result<Snapshot>(eight_devices()); };
  auto answer = acquire(ledger, look, clock, options_for(std::to_string(number), 2, seconds(30)));
  if (!answer) give_up(answer.error().message());
  auto* got = std::get_if<Acquired>(&*answer);
  if (got == nullptr) give_up("sent away");
  for (const Choice& choice : got->placement.chosen) take_token(scene, choice.device);
  clock.wait_until(clock.now() + milliseconds(10));
  for (const Choice& choice : got->placement.chosen) return_token(scene, choice.device);
  return got->lease.end(ledger) ? 0 : 1;
}

/// Ann claims everything and says so; she is killed later.
int ann_holds(const Scene& scene, int ready) {
  SystemClock clock;
  Ledger ledger = open_ledger(scene, clock, LedgerPlace::Kind::shared);
  const TakeSnapshot look = [] { return Result<Snapshot>(eight_devices()); };
  auto answer = acquire(ledger, look, clock, options_for("ann", 8, milliseconds(0)));
  if (!answer || !std::holds_alternative<Acquired>(*answer)) give_up("ann gets nothing");
  expect(::write(ready, "r", 1) == 1, "ann cannot say that she is ready");
  while (true) ::pause();
}

int bob_meddles(const Scene& scene, bool ann_lives) {
  SystemClock clock;
  Ledger ledger = open_ledger(scene, clock, LedgerPlace::Kind::shared);
  const auto names = left_over(scene);
  expect(names.size() == 1, "ann's lease is not there");
  const std::string path = scene.ledger + "/" + names.front();
  expect(::unlink(path.c_str()) != 0, "bob removed ann's lease");
  expect(!open_fd(path, O_RDWR), "bob opened ann's lease for writing");
  const auto to_read = open_fd(path, O_RDONLY);
  expect(to_read.has_value(), "bob cannot read ann's lease");
  expect(!take_ofd_lock(to_read->get()), "bob made ann's lease look alive");
  const auto claims = ledger.read()->claims;
  if (!ann_lives) {
    expect(claims.empty(), "a dead lease of somebody else is honoured");
    return short_job(scene, 1);
  }
  expect(claims.size() == 1 && claims[0].uid == ann, "ann's claim is not seen as hers");
  const TakeSnapshot look = [] { return Result<Snapshot>(eight_devices()); };
  const auto answer = acquire(ledger, look, clock, options_for("bob", 1, milliseconds(0)));
  expect(answer && std::holds_alternative<NotAcquired>(*answer), "bob got one of ann's devices");
  return 0;
}

int as_user(uid_t uid, const std::function<int()>& body) {
  return finish(start([&] {
    become(uid);
    return body();
  }));
}

}  // namespace

int two_users() {
  if (::geteuid() != 0) skip("two users in a root-owned ledger: needs root");
  Scene scene = make_scene();
  const ProtectedRegular guard;
  const auto made = make_shared_ledger({.root = scene.folder});
  if (!made) give_up(made.error().message());
  scene.ledger = scene.folder + "/run/berth";

  std::array<int, 2> ready{};
  if (::pipe(ready.data()) != 0) give_up("no pipe");
  const pid_t holder = start([&] {
    become(ann);
    return ann_holds(scene, ready[1]);
  });
  char said = 0;
  expect(::read(ready[0], &said, 1) == 1, "ann did not get ready");
  expect(as_user(bob, [&] { return bob_meddles(scene, true); }) == 0, "bob, while ann lives");
  ::kill(holder, SIGKILL);
  finish(holder);
  expect(as_user(bob, [&] { return bob_meddles(scene, false); }) == 0, "bob, after ann's death");
  expect(as_user(ann, [&] { return short_job(scene, 2); }) == 0, "ann comes back");
  expect(left_over(scene).empty(), "ann's dead lease was not swept by ann");

  std::vector<pid_t> jobs;
  for (int i = 0; i < 60; ++i) {
    jobs.push_back(start([&scene, i] {
      become(i % 2 == 0 ? ann : bob);
      return short_job(scene, i);
    }));
  }
  int failed = 0;
  for (const pid_t job : jobs) failed += finish(job) == 0 ? 0 : 1;
  expect(failed == 0, "jobs of two users failed");
  expect(left_over(scene).empty(), "files left over");
  remove_scene(scene);
  std::printf(
      "two users: 60 jobs of two users, and meddling, in a root-owned ledger; "
      "fs.protected_regular=2 %s\n",
      guard.is_set() ? "was set" : "SKIPPED: it cannot be set here");
  return 0;
}

}  // namespace berth::stress
