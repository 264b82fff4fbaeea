// SPDX-License-Identifier: Apache-2.0

extension HTTPReference {
  /// A request and its answer, as the document's examples have them, which the tests play to a relay.
  func example(of operation: Operation) throws(Faults) -> [Block] {
    let request = operation.json["requestBody"].flatMap { firstExample(of: $0) }
    // The last success: what happens the first time is answered with the higher status.
    let answers = (operation.json["responses"]?.members ?? []).filter { $0.name.hasPrefix("2") }
    guard
      let answer = answers.last(where: { firstExample(of: $0.value) != nil }) ?? (request == nil ? nil : answers.last)
    else { return [] }
    let path = try filled(operation)
    var lines = ["\(operation.method) \(path)"]
    if let request { lines.append(request.printed()) }
    lines += ["", answer.name]
    if let body = firstExample(of: answer.value) { lines.append(body.text ?? body.printed()) }
    return [.code(lines.joined(separator: "\n") + "\n")]
  }

  /// The path with the parameters' own examples.
  private func filled(_ operation: Operation) throws(Faults) -> String {
    var path = operation.path
    for parameter in operation.parameters {
      let parameter = try resolved(parameter)
      guard parameter["in"] == .string("path"), let name = parameter["name"]?.text else { continue }
      path = path.replacing("{\(name)}", with: parameter["example"]?.text ?? "{\(name)}")
    }
    return path
  }

  private func firstExample(of message: JSON) -> JSON? {
    content(of: message)?["examples"]?.members.first?.value["value"]
  }
}
