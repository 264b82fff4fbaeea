// SPDX-License-Identifier: Apache-2.0
// The app: one client, one room, and the reports when it becomes active.
import StillwireUI
import SwiftUI
import UIKit

@MainActor let relay = Stillwire(
  .init(chat.relay, device: chat.device(of: Session.user)) { _ in try await Session.identity() })

@main struct ChatApp: App {
  @UIApplicationDelegateAdaptor private var delegate: AppDelegate
  @Environment(\.scenePhase) private var phase

  var body: some Scene {
    WindowGroup { RoomScreen() }
      .onChange(of: phase, initial: true) { _, phase in Task { await changed(to: phase) } }
  }

  private func changed(to phase: ScenePhase) async {
    // In the phase `inactive` the app is visible, but the person uses something else.
    await relay.report(phase == .active ? .active : phase == .inactive ? .idle : .background)
    guard phase == .active else { return }
    // A registration is due each week, and after a change of the permissions.
    UIApplication.shared.registerForRemoteNotifications()
    // The system may have ended an extension before its report.
    _ = try? await chat.focusReporter.reportCenter()
  }
}
