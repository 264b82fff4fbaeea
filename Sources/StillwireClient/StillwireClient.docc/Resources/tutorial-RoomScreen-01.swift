// SPDX-License-Identifier: Apache-2.0
// A room: messages and presence.
import StillwireUI
import SwiftUI

struct RoomScreen: View {
  @State private var model = RoomModel(relay, room: "tea", me: Session.user)
  @State private var draft = ""

  var body: some View {
    List {
      ForEach(model.timeline.messages, id: \.seq) { message in
        HStack {
          PresenceDot(message.from.flatMap { model.people[$0] })
          Text(message.text ?? "deleted")
        }
      }
    }
    .safeAreaInset(edge: .bottom) {
      TextField("Message", text: $draft).onSubmit { Task { if await model.send(draft) { draft = "" } } }
    }
    .task { await model.run() }
  }
}
