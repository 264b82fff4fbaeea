// SPDX-License-Identifier: Apache-2.0
/* A workaround for libwebsockets 4.1, which closes the descriptor of its event pipe twice: in
 * lws_context_destroy(), and after the loop has closed the handle.
 *
 * If another thread opens a file between the two closes, the file may get this number, and the second close
 * would close it. So relay__pipe_keep() opens a file that gets the number. If another thread was faster, it
 * duplicates that thread's descriptor, and relay__pipe_closed() restores the number after the second close.
 * The number is free for a moment then, so a process should not open files while its hubs end.
 */
#include <fcntl.h>
#include <unistd.h>

#include "edge.h"

static void note_polled(uv_handle_t *handle, void *descriptor) {
  if (handle->type == UV_POLL) uv_fileno(handle, descriptor);
}

int relay__pipe_find(uv_loop_t *loop) {
  uv_os_fd_t found = -1;
  uv_walk(loop, note_polled, &found);
  return found;
}

int relay__pipe_keep(int pipe) {
  if (pipe < 0) return -1;
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0 || null == pipe) return -1;
  const int ours = fcntl(null, F_DUPFD_CLOEXEC, pipe);
  close(null);
  if (ours == pipe) return -1;
  if (ours >= 0) close(ours);
  return fcntl(pipe, F_DUPFD_CLOEXEC, 0);
}

void relay__pipe_closed(int pipe, int kept) {
  if (kept < 0) return;
  dup3(kept, pipe, O_CLOEXEC);
  close(kept);
}
