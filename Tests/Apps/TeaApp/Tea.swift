import StillwireClient

@main struct Tea {
  static func main() async throws {
    let address = RelayAddress(CommandLine.arguments.dropFirst().first ?? "http://localhost:8080")!
    let relay = Stillwire(.init(address, device: "mac") { _ in .open("ann", name: "Ann") })
    let tea = relay.room("tea")
    let (messages, people) = (tea.messages(), tea.people())
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask { await relay.run() }  // connects, and reconnects by itself
      tasks.addTask {
        for await message in messages { print("\(message.from?.rawValue ?? "nobody"): \(message.text ?? "")") }
      }
      tasks.addTask {
        for await now in people {
          print("reachable:", now.reachable.map(\.user), "silenced:", now.silenced.map(\.user))
        }
      }
      try await tea.join(history: 10)
      try await tea.send(text: "Kettle is on")
      try await relay.report(FocusReport(device: "mac", isFocused: true, source: .manual))
      try await Task.sleep(for: .seconds(60))
      try await relay.report(FocusReport(device: "mac", isFocused: false, source: .manual))
      try await tasks.waitForAll()
    }
  }
}
