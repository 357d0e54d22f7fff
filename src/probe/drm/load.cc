#include "probe/drm/load.h"

#include <algorithm>
#include <array>
#include <utility>

namespace berth::drm {

// amdgpu: gfx compute dma dec enc enc_1 jpeg vpe; i915: render copy video video-enhance compute;
// xe: rcs bcs vcs vecs ccs.
EngineKind kind_of_engine(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, EngineKind>, 14> kinds = {{
      {"gfx", EngineKind::graphics},
      {"render", EngineKind::graphics},
      {"rcs", EngineKind::graphics},
      {"compute", EngineKind::compute},
      {"ccs", EngineKind::compute},
      {"dec", EngineKind::decode},
      {"video", EngineKind::decode},
      {"vcs", EngineKind::decode},
      {"enc", EngineKind::encode},
      {"enc_1", EngineKind::encode},
      {"dma", EngineKind::copy},
      {"copy", EngineKind::copy},
      {"bcs", EngineKind::copy},
      {"npu-amdxdna", EngineKind::compute},
  }};
  const auto found =
      std::ranges::find(kinds, name, &std::pair<std::string_view, EngineKind>::first);
  return found == kinds.end() ? EngineKind::other : found->second;
}

bool has_used(const Client& client, EngineKind kind) {
  return std::ranges::any_of(client.engines, [&](const auto& one) {
    return one.second.busy > 0 && kind_of_engine(one.first) == kind;
  });
}

void Load::begin(Instant now) {
  now_ = now;
  seen_.clear();
}

void Load::end() {
  before_ = now_;
  earlier_ = std::move(seen_);
  seen_.clear();
}

namespace {
void add_one(Reading<Percent>& sum, const Reading<Percent>& more) {
  constexpr double most = 100.0;
  if (!more.get()) {
    if (!sum.get() && more.why() == Absent::not_sampled) sum = more;
    return;
  }
  const double before = sum.get() ? sum.get()->count() : 0;
  sum = Percent{std::min(before + more.get()->count(), most)};
}
}  // namespace

void ClientLoad::add(const ClientLoad& more) {
  add_one(shader, more.shader);
  add_one(decoder, more.decoder);
  add_one(encoder, more.encoder);
}

ClientLoad Load::of(const Client& client) {
  ClientLoad load;
  constexpr double most = 100.0;
  const auto add = [&](Reading<Percent>& to, std::optional<double> percent) {
    if (!percent) {
      if (!to.get()) to = Absent::not_sampled;
      return;
    }
    const double sum = to.get() ? to.get()->count() + *percent : *percent;
    to = Percent{std::min(sum, most)};
  };
  const auto earlier = earlier_.find(client.id);
  auto& kept = seen_[client.id];
  for (const auto& [name, use] : client.engines) {
    EngineUse now = use;
    const EngineUse* before = nullptr;
    if (earlier != earlier_.end()) {
      const auto known = earlier->second.find(name);
      if (known != earlier->second.end()) before = &known->second;
    }
    // A counter may go back for a moment.
    if (before != nullptr) now.busy = std::max(now.busy, before->busy);
    std::optional<double> percent;
    const double ended = now.of ? static_cast<double>(*now.of)
                                : static_cast<double>(now_.time_since_epoch().count());
    const double began = before == nullptr ? ended
                         : before->of      ? static_cast<double>(*before->of)
                         : before_ ? static_cast<double>(before_->time_since_epoch().count())
                                   : ended;
    if (before != nullptr && before_ && ended > began) {
      percent = static_cast<double>(now.busy - before->busy) * most / (ended - began) /
                static_cast<double>(now.engines);
    }
    kept.emplace(name, now);
    switch (kind_of_engine(name)) {
      case EngineKind::graphics:
      case EngineKind::compute:
        add(load.shader, percent);
        break;
      case EngineKind::decode:
        add(load.decoder, percent);
        break;
      case EngineKind::encode:
        add(load.encoder, percent);
        break;
      case EngineKind::copy:
      case EngineKind::other:
        break;
    }
  }
  return load;
}

}  // namespace berth::drm
