#pragma once
// An alert's members, for whoever writes one: the file that keeps it, the API, `berth alert`.

#include "alert/alert.h"
#include "base/archive.h"

namespace berth {

/// `kept`: on disk, with its subject and whom it is about. `shown`: without these, never read.
enum class AlertFields { kept, shown };
void walk(Archive& archive, Alert& alert, AlertFields fields);

}  // namespace berth
