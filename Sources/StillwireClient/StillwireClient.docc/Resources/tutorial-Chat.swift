// SPDX-License-Identifier: Apache-2.0
// The values of the app and its three extensions.
import StillwireApple

nonisolated let chat = AppGroup(
  "group.org.example.chat", app: "org.example.chat", relay: [RelayAddress("https://relay.example.org")!])
