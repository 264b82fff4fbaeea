// SPDX-License-Identifier: Apache-2.0
/* The workaround for a descriptor that libwebsockets closes twice. */
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "edge/edge.h"
#include "test.h"

TEST(nobody, "pipe: a second close is harmless if no descriptor was opened in between") {
  const int pipe = eventfd(0, EFD_CLOEXEC);
  EXPECT_INTEGER(close(pipe), 0);
  const int kept = relay__pipe_keep(pipe);
  EXPECT_INTEGER(close(pipe), 0);
  relay__pipe_closed(pipe, kept);
  EXPECT_INTEGER(fcntl(pipe, F_GETFD), -1);
}

TEST(somebody, "pipe: a descriptor that got the number in between is still open after the second close") {
  const int pipe = eventfd(0, EFD_CLOEXEC);
  EXPECT_INTEGER(close(pipe), 0);
  int ends[2];
  EXPECT_INTEGER(pipe2(ends, O_CLOEXEC), 0);
  EXPECT_INTEGER(ends[0], pipe);
  const int kept = relay__pipe_keep(pipe);
  EXPECT_INTEGER(close(pipe), 0);
  relay__pipe_closed(pipe, kept);
  char got = 0;
  EXPECT_INTEGER(write(ends[1], "x", 1), 1);
  EXPECT_INTEGER(read(ends[0], &got, 1), 1);
  EXPECT_INTEGER(got, 'x');
  EXPECT_INTEGER(fcntl(kept, F_GETFD), -1);
  close(ends[0]);
  close(ends[1]);
}

TEST(found, "pipe: the pipe of a loop is found, and a loop without a pipe has none") {
  uv_loop_t loop;
  uv_loop_init(&loop);
  EXPECT_INTEGER(relay__pipe_find(&loop), -1);
  const int pipe = eventfd(0, EFD_CLOEXEC);
  uv_poll_t poll;
  uv_poll_init(&loop, &poll, pipe);
  EXPECT_INTEGER(relay__pipe_find(&loop), pipe);
  uv_close((uv_handle_t *)&poll, NULL);
  uv_run(&loop, UV_RUN_DEFAULT);
  uv_loop_close(&loop);
  close(pipe);
}
