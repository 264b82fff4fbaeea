// SPDX-License-Identifier: Apache-2.0
// A room: messages, presence, silenced people, and Notify Anyway.
import StillwireUI
import SwiftUI

struct RoomScreen: View {
  @Environment(\.scenePhase) private var phase
  @State private var model = RoomModel(relay, room: "tea", me: Session.user)
  @State private var sharing = FocusSharing(relay)
  @State private var draft = ""

  var body: some View {
    List {
      ShareFocusToggle(sharing)
      ForEach(model.timeline.messages, id: \.seq) { message in
        HStack {
          PresenceDot(message.from.flatMap { model.people[$0] })
          Text(message.text ?? "deleted")
        }
      }
      if let offer = model.offer { NotifyAnywayButton(offer) { await model.notifyAnyway() } }
    }
    .safeAreaInset(edge: .bottom) {
      VStack {
        if let notice = model.silenced { SilencedBanner(notice) }
        TextField("Message", text: $draft).onSubmit { Task { if await model.send(draft) { draft = "" } } }
      }
    }
    .task { await model.run() }
    // A message that arrives while the app is in the background is not read.
    .onChange(of: phase == .active ? model.timeline.messages.last?.seq : nil) { _, seq in
      if seq != nil { Task { await model.markRead() } }
    }
  }
}
