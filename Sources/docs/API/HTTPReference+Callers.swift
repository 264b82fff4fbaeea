// SPDX-License-Identifier: Apache-2.0

extension HTTPReference {
  /// What requests say of who makes them.
  func callers() throws(Faults) -> [Block] {
    var rows: [[[Inline]]] = []
    for scheme in document["components"]?["securitySchemes"]?.members ?? [] {
      let header =
        scheme.value["scheme"] == .string("bearer")
        ? "Authorization: Bearer …" : "\(scheme.value["name"]?.text ?? ""): …"
      rows.append([[.code(header)], try line(scheme.value["description"]?.text)])
    }
    guard !rows.isEmpty else { return [] }
    return [
      heading(2, "Who calls", anchor: "callers"),
      .table(Table(header: [[.text("Header")], [.text("Meaning")]], rows: rows)),
    ]
  }

  /// A line that is left out where users may call, as they may nearly everywhere.
  func whoMayCall(_ operation: Operation) throws(Faults) -> [Block] {
    guard let security = operation.json["security"]?.items else { return [] }
    let names = Set(security.flatMap { $0.members.map(\.name) })
    if names.contains("token") {
      guard names.contains("reportKey") else { return [] }
      return [.paragraph([.text("A report key permits it too, for its own device.")])]
    }
    if names == ["reportKey"] {
      return [.paragraph([.text("It takes no token: the request proves itself by its body or by a report key.")])]
    }
    if names.isEmpty { return [.paragraph([.text("Everybody may call it; it takes no token.")])] }
    guard names.isSubset(of: ["apiKey", "openMode"]) else {
      throw Faults(place, "who may call \(operation.method) \(operation.path) has no words on the site yet")
    }
    return [.paragraph([.text("Takes an API key, or a relay in open mode.")])]
  }
}
