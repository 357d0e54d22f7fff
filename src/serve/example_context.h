#pragma once
// A small machine with two users for the tests of this folder.

#include <memory>

#include "serve/api.h"
#include "snapshot/builder.h"

namespace berth::serve {

inline constexpr uid_t alice = 1001;
inline constexpr uid_t bob = 1002;
inline constexpr uid_t carol = 1003;

/// alice and bob share the group "vision"; carol is alone.
inline const char* const example_passwd =
    "root:x:0:0::/root:/bin/sh\nalice:x:1001:1001::/home/alice:/bin/sh\n"
    "bob:x:1002:1002::/home/bob:/bin/sh\ncarol:x:1003:1003::/home/carol:/bin/sh\n";
inline const char* const example_group = "vision:x:2000:alice,bob\naudio:x:29:\n";

/// alice computes on A under a lease, bob on B; each with a secret in the command.
inline Snapshot example_snapshot() {
  using namespace literals;
  Snapshot snapshot = SnapshotBuilder()
                          .gpu("GPU-A", 80_GiB)
                          .used(10_GiB)
                          .process(4711, "alice", 10_GiB)
                          .claim("alice", std::nullopt, 4710)
                          .gpu("GPU-B", 80_GiB)
                          .utilization(90_percent)
                          .process(4712, "bob", 1_GiB)
                          .gpu("GPU-C", 80_GiB)
                          .build();
  snapshot.claims[0].uid = alice;
  snapshot.claims[0].run = "20260101-000000-aaaaaa";
  snapshot.claims[0].command = "python alices-secret.py";
  for (HostProcess& process : snapshot.processes) {
    const bool is_alice = process.user.get() == "alice";
    process.uid = is_alice ? alice : bob;
    process.command =
        std::vector<std::string>{"python", is_alice ? "alices-secret.py" : "bobs-secret.py"};
    process.executable_name = std::string("python");
    process.container = std::string("docker 0123456789ab");
    process.ancestors = {is_alice ? 4710 : 1};
  }
  return snapshot;
}

inline RequestContext example_context(Visibility::Others others = Visibility::Others::open) {
  RequestContext context;
  context.snapshot = std::make_shared<const Snapshot>(example_snapshot());
  context.sequence = 7;
  context.now = WallTime{context.snapshot->taken.unix_ms + 500};
  context.visibility.others = others;
  context.book = std::make_shared<const GroupBook>(example_passwd, example_group);
  return context;
}

inline Principal known(uid_t uid) {
  return {.listener = ListenerKind::unix_socket, .uid = uid, .user = "somebody", .admin = false};
}
inline Principal administrator() {
  return {.listener = ListenerKind::unix_socket, .uid = uid_t{0}, .user = "root", .admin = true};
}
inline Principal nobody() { return {}; }

inline HttpRequest get(std::string path, Pairs headers = {}) {
  auto target = parse_target(path);
  HttpRequest request;
  request.path = target ? target->path : path;
  if (target) request.query = target->query;
  request.headers = std::move(headers);
  request.headers.emplace_back("host", "localhost:9700");
  return request;
}
inline HttpRequest post(std::string path, std::string body) {
  HttpRequest request =
      get(std::move(path), {{"content-type", "application/json"}, {"x-berth", "1"}});
  request.method = Method::post;
  request.body = std::move(body);
  return request;
}

}  // namespace berth::serve
