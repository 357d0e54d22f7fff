// The least that a program has to do to read the same files. It opens, reads and closes each of a
// list, and lists folders. The microseconds of processor time of each pass are printed.
//
//   floor_files LIST PASSES

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

static long processor_microseconds() {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000L + used.ru_utime.tv_usec +
         used.ru_stime.tv_usec;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  static char names[4096][512];
  int count = 0;
  FILE* list = fopen(argv[1], "r");
  if (list == nullptr) return 1;
  while (count < 4096 && fgets(names[count], sizeof names[count], list) != nullptr) {
    names[count][strcspn(names[count], "\n")] = 0;
    ++count;
  }
  fclose(list);
  for (int pass = 0; pass < atoi(argv[2]); ++pass) {
    const long before = processor_microseconds();
    for (int i = 0; i < count; ++i) {
      const size_t length = strlen(names[i]);
      if (length > 0 && names[i][length - 1] == '/') {
        DIR* folder = opendir(names[i]);
        if (folder == nullptr) continue;
        while (readdir(folder) != nullptr) {
        }
        closedir(folder);
        continue;
      }
      const int fd = open(names[i], O_RDONLY | O_CLOEXEC);
      if (fd < 0) continue;
      char text[16384];
      (void)!read(fd, text, sizeof text);
      close(fd);
    }
    printf("%ld\n", processor_microseconds() - before);
  }
  return 0;
}
