#pragma once
// Error texts of the machine around the GPU: data loader, shared memory, files, disk, signals.
// Included by catalogue.cc only.

#include <array>

#include "diagnose/postmortem/catalogue.h"

namespace berth {

inline constexpr LogEntry::Advice more_shared_memory{as_key("in a container: more shared memory"),
                                                     "docker run --ipc=host …"};
inline constexpr LogEntry::Advice fewer_workers{
    as_key("use fewer data loader workers (num_workers)"), ""};
inline constexpr LogEntry::Advice no_workers{
    as_key("run once with num_workers=0: then the error itself is shown"), ""};

inline constexpr LogEntry::Advice killed_by_kernel{
    as_key("ask the kernel whether it was for want of memory"),
    "dmesg -T | grep -i 'killed process'"};

inline constexpr auto host_entries = std::to_array<LogEntry>({
    {"shared_memory_full",
     Severity::error,
     LogPart::cause,
     "is killed by signal: bus error\n"
     "unexpected bus error encountered in worker\n"
     "unable to write to file </torch\n"
     "insufficient shared memory (shm)\n"
     "out of shared memory. please try to raise\n"
     "^{zsh: |}bus error\n"
     "^*: line *: * bus error \n"
     "fatal python error: bus error\n"
     "srun: error: *: task*: bus error\n"
     "总线错误\n"
     "signal 7 (sigbus\n"
     "signals.sigbus\n"
     "terminated by signal sigbus\n"
     "exit{code: |s with return code = |ed with code |ed with exit code |code = |_code: "
     "}{-7|135}",
     as_key("the shared memory (/dev/shm) is full"),
     as_key(
         "Data loader workers hand over their batches there; a container has 64 MiB of it unless "
         "told otherwise."),
     {more_shared_memory, {as_key("see how full it is"), "df -h /dev/shm"}, fewer_workers}},
    {"loader_worker_killed",
     Severity::error,
     LogPart::cause,
     "dataloader worker (pid*) is killed by signal: {killed|terminated|aborted|hangup|interrupt}",
     as_key("a data loader worker was killed"),
     as_key("Mostly the kernel does this when the main memory is used up. Each worker holds its "
            "own copy of the data set."),
     {fewer_workers, killed_by_kernel}},
    {"loader_worker_segfault",
     Severity::error,
     LogPart::cause,
     "dataloader worker (pid*) is killed by signal: segmentation fault\n"
     "unexpected segmentation fault encountered in worker",
     as_key("a data loader worker died of a segmentation fault"),
     as_key("A mistake in compiled code that reads the data (image, video, HDF5 libraries after a "
            "fork)."),
     {no_workers, {as_key("let Python say where"), "export PYTHONFAULTHANDLER=1"}}},
    {"loader_worker_exited",
     Severity::error,
     LogPart::consequence,
     "dataloader worker (pid* exited unexpectedly",
     as_key("a data loader worker ended"),
     as_key("Why it did so is lost between the processes."),
     {no_workers, killed_by_kernel}},
    {"loader_timeout",
     Severity::error,
     LogPart::cause,
     "dataloader timed out after",
     as_key("a data loader worker gave nothing for too long"),
     as_key("The storage is slow, a worker hangs in a lock from before the fork, or the limit is "
            "too short."),
     {no_workers, {as_key("look where a worker hangs"), "py-spy dump --pid PID"}}},
    {"shared_memory_object",
     Severity::error,
     LogPart::cause,
     "unable to open shared memory object\n"
     "unable to mmap * bytes from file\n"
     "could not unlink the shared memory file\n"
     "shm_open*failed",
     as_key("shared memory for tensors could not be had"),
     as_key("Too many files are open, or /dev/shm is full."),
     {{as_key("allow more open files"), "ulimit -n 65536"},
      {as_key("torch.multiprocessing.set_sharing_strategy('file_system')"), ""},
      more_shared_memory}},
    {"too_many_open_files",
     Severity::error,
     LogPart::cause,
     "too many open files\n"
     "received 0 items of ancdata\n"
     "emfile",
     as_key("too many files were open at once"),
     as_key("Every tensor that a worker hands over is an open file. So is every file that the "
            "program forgets to close."),
     {{as_key("allow more open files"), "ulimit -n 65536"},
      {as_key("torch.multiprocessing.set_sharing_strategy('file_system')"), ""}}},
    {"disk_full",
     Severity::error,
     LogPart::cause,
     "disk quota exceeded\n"
     "pytorchstreamwriter failed writing file\n"
     "inline_container.cc*unexpected pos\n"
     "errno 28\n"
     "enospc\n"
     "not enough disk space\n"
     "not enough free disk space\n"
     "errno = 28\n"
     "!no space left",
     as_key("the disk is full, or a quota is used up"),
     as_key("A checkpoint that was being written then is not whole. The disk may be /tmp or "
            "/dev/shm."),
     {{as_key("see what is full"), "df -h . /tmp /dev/shm"},
      {as_key("see the quota"), "quota -s"},
      {as_key("keep fewer checkpoints, and write one to a new name before the old one goes"), ""}}},
    {"storage_failed",
     Severity::error,
     LogPart::cause,
     "!stale {nfs |}file handle\n"
     "!transport endpoint is not connected\n"
     "!input/output error",
     as_key("a file could not be read or written: its disk or its file server failed"),
     as_key("The file itself need not be at fault. Of a network folder its server went away or was "
            "mounted anew; of a disk the kernel's log tells."),
     {{as_key("see where it lies and whether that answers"), "findmnt -T ."},
      {as_key("have an administrator look at the kernel's log"),
       "dmesg -T | grep -iE 'I/O error|nfs'"}}},
    {"too_many_threads",
     Severity::error,
     LogPart::cause,
     "pthread_create failed\n"
     "can't start new thread\n"
     "unable to create {new native|native} thread\n"
     "[errno 11] resource temporarily unavailable\n"
     "fork: {retry: |}resource temporarily unavailable\n"
     "fork: cannot allocate memory\n"
     "thread creation failed\n"
     "libgomp: thread creation failed",
     as_key("no more threads or processes may be started"),
     as_key("The limit of the user or of the container is reached: workers times threads of each."),
     {{as_key("one thread per process"), "export OMP_NUM_THREADS=1"},
      fewer_workers,
      {as_key("see the limit"), "ulimit -u"}}},
    {"segmentation_fault",
     Severity::error,
     LogPart::cause,
     "^{zsh: |}segmentation fault\n"
     "fatal python error: segmentation fault\n"
     "^*: line *: * segmentation fault \n"
     "srun: error: *: task*: segmentation fault\n"
     "]: segfault at * ip \n"
     "traps: * general protection\n"
     "terminated by signal sigsegv\n"
     "!sigsegv\n"
     "段错误\n"
     "0xc0000005\n"
     "signals.sigsegv",
     as_key("segmentation fault: compiled code touched memory that is not its own"),
     as_key(
         "Not Python itself: an extension, a library of another version, or a full stack. Below a "
         "line of Python's fault handler stands where it was."),
     {{as_key("let Python say where"), "export PYTHONFAULTHANDLER=1"},
      {as_key("import the libraries one by one to find the two that do not go together"), ""}}},
    {"arithmetic_error",
     Severity::error,
     LogPart::cause,
     "^{zsh: |}floating point exception\n"
     "fatal python error: floating point exception\n"
     "^*: line *: * floating point exception\n"
     "srun: error: *: task*: floating point exception\n"
     "traps: * trap divide error\n"
     "terminated by signal sigfpe\n"
     "signal 8 (sigfpe\n"
     "浮点数例外",
     as_key("arithmetic error: compiled code divided by zero"),
     as_key("An integer division in an extension; floating point does not do this."),
     {{as_key("let Python say where"), "export PYTHONFAULTHANDLER=1"}}},
    {"compiler_missing",
     Severity::error,
     LogPart::cause,
     "no working c++ compiler found\n"
     "failed to find c compiler\n"
     "failed to find c compiler. please specify via cc\n"
     "cl.exe* not found\n"
     "command '{gcc|g++|cc|/usr/bin/gcc}' failed: no such file",
     as_key("torch.compile found no compiler"),
     as_key("It makes C++ (and Triton, for the GPU, C) that has to be compiled on this machine."),
     {{as_key("install one"), "sudo apt install g++"},
      {as_key("where it is not in PATH, name it: CC and CXX (conda: its package gxx)"), ""},
      {as_key("go on without it: leave torch.compile out"), ""}}},
    {"cpu_illegal_instruction",
     Severity::error,
     LogPart::cause,
     "^{zsh: |}illegal {hardware |}instruction\n"
     "^*: line *: * illegal instruction \n"
     "fatal python error: illegal instruction\n"
     "traps: * trap invalid opcode\n"
     "terminated by signal sigill\n"
     "signal 4 (sigill\n"
     "非法指令",
     as_key("the program uses an instruction that this CPU lacks"),
     as_key("It was built for a newer CPU (AVX2, AVX-512) than the machine has."),
     {{as_key("install a build for older CPUs, or use another machine"), ""}}},
    {"libc_too_old",
     Severity::error,
     LogPart::cause,
     "version `glibc_*' not found\n"
     "version `glibcxx_*' not found\n"
     "version `cxxabi_*' not found\n"
     "version 'glibc",
     as_key("the system's C or C++ library is older than the program"),
     as_key("What was installed was built on a newer system."),
     {{as_key("in a conda environment: its newer libstdc++"),
       "conda install -c conda-forge libstdcxx-ng"},
      {as_key("install a build for older systems, or use a container"), ""}}},
    {"scheduler_time_limit",
     Severity::error,
     LogPart::cause,
     "slurmstepd: error: *cancelled at * due to time limit\n"
     "cancelled at * due to time limit\n"
     "exceeded walltime\n"
     "job killed: walltime * exceeded limit\n"
     "term_runlimit",
     as_key("the scheduler's time limit was over"),
     as_key("Slurm ended the job; the program had no fault."),
     {{as_key("ask for more time, or save checkpoints and go on from the last"), ""}}},
    {"interrupted",
     Severity::warning,
     LogPart::cause,
     "^keyboardinterrupt\n"
     "exited on signal 2 (interrupt)",
     as_key("somebody interrupted it (Ctrl-C)"),
     as_key("SIGINT came from its terminal, or from a launcher that ends its children."),
     {}},
    {"jupyter_kernel_died",
     Severity::error,
     LogPart::consequence,
     "deadkernelerror\n"
     "^kernel died\n"
     "the kernel crashed while executing code\n"
     "kernelrestarter: restarting kernel\n"
     "the kernel appears to have died\n"
     "the kernel for * appears to have died\n"
     "{内核|服务}似乎挂掉了",
     as_key("the notebook's kernel died"),
     as_key("Jupyter sees only that the process has gone. Mostly the main memory was used up; a "
            "crash in compiled code ends it so, too."),
     {{as_key("ask the kernel of the machine whether it was for want of memory"),
       "dmesg -T | grep -i 'killed process'"},
      {as_key("run the notebook as a script, so that its last words are seen"),
       "jupyter nbconvert --to script notebook.ipynb"}}},
});

}  // namespace berth
