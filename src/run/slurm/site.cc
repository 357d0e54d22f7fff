#include "run/slurm/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/text.h"
#include "snapshot/device_kind.h"
#include "snapshot/topology.h"

namespace berth {

namespace {

/// As Slurm's own AutoDetect=nvml names a card: "nvidia_h100_80gb_hbm3".
std::string type_of(const Device& device) {
  std::string type;
  for (const char c : device.name.get().value_or("gpu")) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    if (c >= 'A' && c <= 'Z') {
      type += static_cast<char>(c - 'A' + 'a');
    } else {
      type += is_plain ? c : '_';
    }
  }
  return type;
}

/// Cards that Slurm can be told of by their device file, in PCI order.
std::vector<const Device*> cards_of(const Snapshot& snapshot) {
  std::vector<const Device*> cards;
  for (const Device& device : snapshot.devices) {
    const bool has_file = !facts_of(device.kind).card_file.empty() && device.minor_number.get();
    if (has_file && !device.parent) cards.push_back(&device);
  }
  std::ranges::sort(cards, {},
                    [](const Device* one) { return one->pci_address.get().value_or(""); });
  return cards;
}

/// The parts of the scripts that are the same everywhere; @ is the program.
constexpr std::string_view health_script = R"sh(#!/bin/sh
# HealthCheckProgram of slurm.conf. Slurm sets SLURMD_NODENAME alone, and its exit code does nothing.
PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin; export PATH
[ -n "$SLURMD_NODENAME" ] || exit 0
said=$(timeout 50 @ health 2>&1); code=$?
reason=$(scontrol show node "$SLURMD_NODENAME" -o | sed -n 's/.* Reason=\(berth: .*\)/\1/p')
case $code in
  2)  # a card has failed: nobody else gets it
    [ -n "$reason" ] || scontrol update NodeName="$SLURMD_NODENAME" State=DRAIN \
      Reason="berth: $(printf '%s' "$said" | tr '\n\t"' '   ' | cut -c1-200)" ;;
  0)  # what berth has taken out alone, and once the cards that it names are free
    busy=$(printf '%s' "$reason" | sed -n 's/^berth: GPU \([0-9,]*\) not free.*/\1/p')
    [ -z "$busy" ] || timeout 20 @ pick --only "$busy" \
      -n "$(printf '%s' "$busy" | tr , '\n' | grep -c .)" >/dev/null 2>&1 || exit 0
    [ -z "$reason" ] || scontrol update NodeName="$SLURMD_NODENAME" State=RESUME ;;
esac
exit 0
)sh";

/// The record names the engine's program, so it is asked as the job's user, never as root. A script
/// that failed would take the node out and hold the user's job.
constexpr std::string_view around_job_script = R"sh(#!/bin/sh
# Prolog and Epilog of slurm.conf. Containers that outlived the job are ended, as its user, who ends
# their own alone. Then its cards have to come free; else the node is drained, and the job runs.
PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin; export PATH
[ -n "$SLURM_JOB_ID" ] && [ -n "$SLURM_JOB_USER" ] || exit 0
HOME=$(getent passwd "$SLURM_JOB_USER" | cut -d: -f6); export HOME
timeout 50 runuser -u "$SLURM_JOB_USER" -- @ stop --slurm-job "$SLURM_JOB_ID" --grace 5s --quiet
# A card in shares may have others on it.
[ -n "$SLURM_JOB_GPUS" ] && [ -z "$SLURM_SHARDS_ON_NODE" ] || exit 0
count=$(printf '%s' "$SLURM_JOB_GPUS" | tr , '\n' | grep -c .)
tries=20
until said=$(timeout 20 @ pick --only "$SLURM_JOB_GPUS" -n "$count" 2>&1); do
  tries=$((tries - 1))
  [ $tries -gt 0 ] || break
  sleep 1
done
[ $tries -eq 0 ] || exit 0
# Everybody may read a reason: who is on them, and no command line.
why=$(printf '%s' "$said" | tr '\n\t"' '   ' | tr -s ' ' |
  sed 's/Asked for:.*Refused: *//; s/ (.*//')
scontrol update NodeName="$SLURMD_NODENAME" State=DRAIN Reason="$(
  printf '%s' "berth: GPU $SLURM_JOB_GPUS not free beside job $SLURM_JOB_ID: $why" | cut -c1-200)"
exit 0
)sh";

/// `script` with the program's path in it.
std::string naming(std::string_view script, const std::string& program) {
  const std::string path = shell_quoted(program);
  std::string text;
  for (const char c : script) text += c == '@' ? path : std::string(1, c);
  return text;
}

bool is_any_joined(const std::vector<const Device*>& cards, const std::vector<Device>& all) {
  return std::ranges::any_of(cards, [&](const Device* one) {
    return std::ranges::any_of(
        cards, [&](const Device* other) { return joint_between(*one, *other, all).nvlinks > 0; });
  });
}

/// "-1,4,4" of the first of three, and "0,0,-1" of one without any beside those that have some.
/// Empty: its links cannot be read.
std::string links_of(const Device& card, const std::vector<const Device*>& cards,
                     const std::vector<Device>& all) {
  if (!card.lists.nvlinks.get()) return {};
  return joined(cards, ",", [&](const Device* other) {
    return other == &card ? "-1" : std::to_string(joint_between(card, *other, all).nvlinks);
  });
}

}  // namespace

Result<SlurmSite> slurm_site(const Snapshot& snapshot, const std::string& node,
                             const std::string& program) {
  const auto cards = cards_of(snapshot);
  if (cards.empty()) {
    return fail(ErrorCode::unsupported,
                "there is no card here that gres.conf could name by its device file");
  }
  if (std::ranges::any_of(snapshot.devices,
                          [](const Device& one) { return one.parent.has_value(); })) {
    return fail(ErrorCode::unsupported,
                "a card here is divided (MIG), and a device file names it whole: let Slurm's "
                "AutoDetect=nvml find the parts");
  }
  SlurmSite site;
  const bool has_links = is_any_joined(cards, snapshot.devices);
  std::map<std::string, int> count;
  for (const Device* card : cards) {
    const std::string type = type_of(*card);
    ++count[type];
    const std::string links = has_links ? links_of(*card, cards, snapshot.devices) : "";
    site.gres += fmt::format("NodeName={} AutoDetect=off Name=gpu Type={} File={}{}{}{}\n", node,
                             type, facts_of(card->kind).card_file, *card->minor_number.get(),
                             links.empty() ? "" : " Links=", links);
  }
  const std::string gres = joined(
      count, ",", [](const auto& one) { return fmt::format("gpu:{}:{}", one.first, one.second); });
  site.node = fmt::format(
      "GresTypes=gpu\n"
      "HealthCheckProgram=/etc/slurm/berth-health\n"
      "HealthCheckInterval=60\n"
      "HealthCheckNodeState=ANY\n"
      "Prolog=/etc/slurm/berth-job\n"
      "Epilog=/etc/slurm/berth-job\n"
      "# and what `slurmd -C` prints, with:\n"
      "NodeName={} Gres={}\n",
      node, gres);
  site.cgroup = "ConstrainDevices=yes\n";
  site.health = naming(health_script, program);
  site.around_job = naming(around_job_script, program);
  return site;
}

std::string slurm_site_text(const SlurmSite& site) {
  return "# gres.conf\n" + site.gres + "\n# slurm.conf\n" + site.node + "\n# cgroup.conf\n" +
         site.cgroup + "\n# /etc/slurm/berth-health, mode 0755\n" + site.health +
         "\n# /etc/slurm/berth-job, mode 0755\n" + site.around_job;
}

}  // namespace berth
