// SPDX-License-Identifier: Apache-2.0
// The app: one client and one room.
import StillwireApple
import StillwireUI
import SwiftUI

@MainActor let relay = Stillwire(
  .init(chat.relay, device: chat.device(of: Session.user)) { _ in try await Session.identity() })

@main struct ChatApp: App {
  var body: some Scene {
    WindowGroup {
      RoomScreen().task { await relay.run() }
    }
  }
}
