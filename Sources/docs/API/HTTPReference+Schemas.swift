// SPDX-License-Identifier: Apache-2.0

extension HTTPReference {
  /// The page of the objects: first those with fields, then names, numbers and words.
  func schemas() throws(Faults) -> [Block] {
    let all = (document["components"]?["schemas"]?.members ?? []).sorted { $0.name < $1.name }
    let (objects, values) = (all.filter { isObject($0.value) }, all.filter { !isObject($0.value) })
    var blocks: [Block] = [heading(2, "Objects", anchor: "with-fields")]
    for member in objects {
      blocks.append(heading(3, member.name, anchor: member.name))
      blocks += try prose(member.value["description"]?.text)
      blocks += try table(try schema(member.value).fields())
    }
    blocks.append(heading(2, "Names, numbers and words", anchor: "without-fields"))
    for member in values {
      blocks.append(heading(3, member.name, anchor: member.name))
      let words = try schema(member.value).words()
      blocks.append(.paragraph([.text("A value: ")] + words + [.text(".")]))
      blocks += try prose(member.value["description"]?.text)
    }
    return blocks
  }

  private func isObject(_ schema: JSON) -> Bool { schema["properties"] != nil || schema["type"]?.text == "object" }
}
