// SPDX-License-Identifier: Apache-2.0

/// The rules that compare headers with the payload. Source: Apple's "Sending notification requests to APNs".
let headerRules: [CombinedRule] = [
  (
    .pushTypeMismatch,
    { push in
      guard let type = push.headers.type else { return [] }
      let fault: (words: String, mend: String)? =
        switch type {
        case "background" where !push.isSilent:
          ("a background push needs content-available", "write 1, or the push type alert")
        case "alert" where push.isSilent && push.shown.isEmpty:
          (
            "the push shows nothing, and content-available makes it a background push",
            "write the push type background, and priority 5"
          )
        case "liveactivity": nil
        case _ where push.isActivity: ("the payload is for a Live Activity", "write the push type liveactivity")
        default: nil
        }
      return fault.map { [Complaint(header: "apns-push-type", words: $0.words, mend: $0.mend)] } ?? []
    }
  ),
  (
    .priorityBackground,
    { push in
      let headers = push.headers
      let isBackground = headers.type == "background" || (headers.type == nil && push.isSilent && push.shown.isEmpty)
      guard !headers.isEmpty, isBackground, headers["apns-priority"] != "5" else { return [] }
      let found = headers["apns-priority"].map { "is \($0.clipped)" } ?? "is missing, which means 10"
      return [
        Complaint(
          header: "apns-priority", words: "the priority \(found), and a background push must have 5", mend: "write 5")
      ]
    }
  ),
]
