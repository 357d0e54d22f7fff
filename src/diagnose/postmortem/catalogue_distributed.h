#pragma once
// Error texts of jobs of several processes: NCCL, gloo, torchrun. Included by catalogue.cc only.

#include <array>

#include "diagnose/postmortem/catalogue.h"

namespace berth {

inline constexpr LogEntry::Advice nccl_says{as_key("let NCCL say what it does"),
                                            "export NCCL_DEBUG=INFO"};
inline constexpr LogEntry::Advice first_error{
    as_key("look for the first error of another rank: torchrun writes each rank's output to a "
           "folder of its "
           "own"),
    "torchrun --log-dir logs --redirects 3 …"};

inline constexpr auto distributed_entries = std::to_array<LogEntry>({
    {"nccl_duplicate_gpu",
     Severity::error,
     LogPart::cause,
     "duplicate gpu detected",
     as_key("two ranks chose the same GPU"),
     as_key("Each rank needs a GPU of its own. There are more ranks than GPUs, or the device was "
            "not set before the first tensor."),
     {{as_key(
           "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"])) at the beginning of each rank"),
       ""},
      {as_key("start as many processes as there are GPUs: with `berth run -n K`, torchrun "
              "--nproc-per-node K"),
       ""}}},
    {"nccl_peer_access",
     Severity::error,
     LogPart::cause,
     "peer access is not supported between these two devices",
     as_key("two GPUs cannot reach each other's memory"),
     as_key("Direct access from card to card was taken for possible and is not. Cards lack it, "
            "virtual machines do, or each rank sees one GPU alone."),
     {{as_key("see whether it works without direct access from card to card"),
       "export NCCL_P2P_DISABLE=1"},
      {as_key("where NCCL names shm.cc: without its newer way of sharing memory"),
       "export NCCL_CUMEM_HOST_ENABLE=0"},
      {as_key("see which cards have it"), "nvidia-smi topo -p2p r"}}},
    {"nccl_not_built_in",
     Severity::error,
     LogPart::cause,
     "!distributed package doesn't have nccl built in*",
     as_key("this PyTorch has no NCCL"),
     as_key("It is a build for the CPU alone, or one for a system that NCCL does not run on."),
     {{as_key("where the CPU is meant: init_process_group(\"gloo\")"), ""},
      {as_key("see what this Python's PyTorch can use"),
       "python -c \"import torch; print(torch.__version__, torch.cuda.is_available())\""}}},
    {"torch_without_libuv",
     Severity::error,
     LogPart::cause,
     "!use_libuv was requested but pytorch was buil* without libuv support*",
     as_key("torchrun asks for a library that this PyTorch was built without"),
     as_key("Since 2.4 the ranks find each other through libuv unless told otherwise. Some "
            "distributions' PyTorch and those for Windows lack it."),
     {{as_key("let them meet without it"), "export USE_LIBUV=0"},
      {as_key(
           "torchrun asks for it all the same: start each rank by hand, or install PyTorch's own "
           "build"),
       "RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=29500 python "
       "train.py"}}},
    {"old_torchrun",
     Severity::error,
     LogPart::cause,
     "val_or_map.get(i, std.none)",
     as_key("this torchrun is too old for its Python"),
     as_key("torchrun of PyTorch before 2.1 cannot read its own defaults under Python 3.11 and "
            "newer: no rank was started."),
     {{as_key("redirect a rank that there is not: its defaults are then not read"),
       "torchrun -r 9:1 -t 9:1 …"},
      {as_key("or install PyTorch 2.1 or newer"), ""}}},
    {"nccl_cuda_error",
     Severity::error,
     LogPart::cause,
     "nccl error*unhandled cuda error\n"
     "ncclunhandledcudaerror\n"
     "nccl warn cuda failure\n"
     "unhandled cuda error",
     as_key("a CUDA call within NCCL failed"),
     as_key("Often the device's memory is full, a kernel had failed before, or peer access between "
            "the cards does not work."),
     {nccl_says,
      {as_key("see whether it works without direct access from card to card"),
       "export NCCL_P2P_DISABLE=1"}}},
    {"nccl_system_error",
     Severity::error,
     LogPart::cause,
     "unhandled system error\n"
     "ncclsystemerror\n"
     "net/ib : got {completion|event|async}\n"
     "nccl warn net/{ib|socket}\n"
     "nccl warn *{connect to|connection refused|no route to host|connection timed out}\n"
     "nccl warn {bootstrap|call to}\n"
     "nccl warn error while creating shared memory\n"
     "nccl warn*ibv_",
     as_key("NCCL could not reach another rank, or lacked something of the system"),
     as_key(
         "A closed port, the wrong network interface, too little shared memory (/dev/shm) or too "
         "few open files."),
     {nccl_says,
      {as_key("name the network interface that joins the machines"),
       "export NCCL_SOCKET_IFNAME=eth0"},
      {as_key("in a container: more shared memory"), "docker run --ipc=host …"}}},
    {"nccl_remote_error",
     Severity::error,
     LogPart::consequence,
     "ncclremoteerror\n"
     "!remote process exited or there was a network error\n"
     "communicator was aborted\n"
     "ncclcommabort",
     as_key("another rank went away"),
     as_key("The error is the other rank's: it died, or the network between them."),
     {first_error, nccl_says},
     Tells::lost_rank},
    {"nccl_internal_error",
     Severity::error,
     LogPart::cause,
     "ncclinternalerror\n"
     "nccl error*internal error",
     as_key("NCCL found something that does not fit"),
     as_key(
         "Mostly the ranks have different versions of NCCL, or the machine's topology could not be "
         "read."),
     {nccl_says}},
    {"nccl_timeout",
     Severity::error,
     LogPart::consequence,
     "watchdog caught collective operation timeout\n"
     "timeout at nccl work\n"
     "watchdog got stuck\n"
     "some nccl operations have failed or timed out\n"
     "either an error or timeout) detected by watchdog\n"
     "collective operation timeout\n"
     "watchdog thread terminated with exception\n"
     "worknccl(*timed out\n"
     "heartbeat monitor timed out\n"
     "timed out waiting * for {recv|send} operation to complete\n"
     "monitoredbarrier*",
     as_key("the ranks waited for each other until the time was over"),
     as_key("One rank did not come to the same operation. It had died, hung, or does another "
            "number of steps. Or one rank alone evaluates or saves while the others wait."),
     {first_error,
      {as_key("see where each rank is while it hangs"), "py-spy dump --pid PID"},
      {as_key("where a long phase of one rank is meant: "
              "init_process_group(timeout=timedelta(hours=2))"),
       ""}}},
    {"address_in_use",
     Severity::error,
     LogPart::cause,
     "!has failed to listen on any local network address\n"
     "!address already in use\n"
     "!eaddrinuse\n"
     "!errno 98\n"
     "!errno: 98",
     as_key("the port is taken already"),
     as_key("Another job of this machine meets at the same port (29500 is everybody's default). Or "
            "a process of an earlier one still lives."),
     {{as_key("let torchrun choose a free port"), "torchrun --standalone --nproc-per-node K …"},
      {as_key("see who has it"), "ss -ltnp 'sport = :29500'"}}},
    {"rendezvous_timeout",
     Severity::error,
     LogPart::cause,
     "the client socket has timed out after * while trying to connect to\n"
     "wait timeout after * keys: \n"
     "timed out after * waiting for clients\n"
     "timed out*waiting for clients\n"
     "the client socket has failed to connect to any network address of\n"
     "rendezvous{timeouterror|connectionerror}\n"
     "rendezvoustimeouterror\n"
     "store based barrier*timed out\n"
     "timed out initializing process group in store based barrier\n"
     "!socket timeout\n"
     "!connection timed out",
     as_key("the ranks did not find each other"),
     as_key("Fewer came than were expected, or the address or port of the first one cannot be "
            "reached."),
     {{as_key("compare MASTER_ADDR, MASTER_PORT and the number of ranks on every machine"), ""},
      {as_key("see whether a firewall is between them"), ""}}},
    {"peer_gone",
     Severity::error,
     LogPart::consequence,
     "gloo/transport/tcp/*connection {closed by peer|reset by peer}\n"
     "^connection closed by peer\n"
     "!socket{timeout|} closed by remote\n"
     "!connection reset by peer\n"
     "remote process has terminated\n"
     "failed to recv, got 0 bytes\n"
     "{recvvalue|sendbytes|recvbytes} failed\n"
     "!broken pipe",
     as_key("another rank went away"),
     as_key("The error is the other rank's: it died, or the network between them."),
     {first_error},
     Tells::lost_rank},
    {"ray_worker_died",
     Severity::error,
     LogPart::consequence,
     "worker unexpectedly exits with a connection error\n"
     "!the worker died unexpectedly while executing\n"
     "!the actor died unexpectedly before finishing",
     as_key("a worker process of Ray's died"),
     as_key("Ray saw only that it was gone. Mostly the main memory was used up, or compiled code "
            "crashed; the worker's own log may have its last words."),
     {{as_key("read the logs of the workers, the newest first"),
       "ls -t /tmp/ray/session_latest/logs"},
      {as_key("ask the kernel whether it was for want of memory"),
       "dmesg -T | grep -i 'killed process'"}}},
    {"rank_raised",
     Severity::error,
     LogPart::cause,
     "",
     as_key("one rank raised an error of its own"),
     as_key("The other ranks lost it and failed in turn. torchrun can name one of these as the "
            "first that failed."),
     {{as_key("read the trace above that line: it names the place in the program"), ""},
      {as_key("let torchrun print each rank's error: decorate main() with @record"),
       "from torch.distributed.elastic.multiprocessing.errors import record"}}},
    {"rank_segfault",
     Severity::error,
     LogPart::cause,
     "signal 11 (sigsegv\n"
     "signal 11 (segmentation fault)\n"
     "exitcode: -11\n"
     "signal: segmentation fault (11)\n"
     "killed by signal: 11\n"
     "return code = -11\n"
     "return code -11\n"
     "signals.sigsegv: 11\n"
     "signal 11: sigsegv\n"
     "exit{code: |s with return code = |ed with code |ed with exit code |code = |_code: "
     "}{-11|139}\n"
     "exit {code|status}{ |: |:}{-11|139}\n"
     "exited (139)\n"
     "non-zero exit status {139|-11}",
     as_key("one rank died of a segmentation fault"),
     as_key("A mistake in compiled code: an extension, a library of another version, or a full "
            "stack."),
     {{as_key("let Python say where"), "export PYTHONFAULTHANDLER=1"}}},
    {"torchrun_child_failed",
     Severity::error,
     LogPart::summary,
     "childfailederror\n"
     "calledprocesserror: command*--local_rank=*returned non-zero exit status\n"
     "exits with return code = 1",
     as_key("one of the processes that torchrun started failed"),
     as_key("Its own error stands above, or in its own log; torchrun only tells that it ended."),
     {first_error},
     Tells::lost_rank},
    {"ddp_unused_parameters",
     Severity::error,
     LogPart::cause,
     "!expected to have finished reduction in the prior iteration before starting a new one*",
     as_key("some parameters took no part in the loss"),
     as_key("Distributed data parallel waits for the gradient of every parameter."),
     {{as_key(
           "DistributedDataParallel(model, find_unused_parameters=True), or leave the parameters "
           "out of the model"),
       ""}}},
});

}  // namespace berth
