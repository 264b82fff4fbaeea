// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import docs

@Suite struct HTTPReferenceTests {
  private static let document = ##"""
    {"info": {"summary": "An API.", "description": "As `HTTP` is."},
     "tags": [{"name": "tea", "description": "Kettles."}],
     "paths": {"/v1/tea/{cup}": {
       "parameters": [{"$ref": "#/components/parameters/cup"}],
       "put": {"operationId": "pour", "tags": ["tea"], "summary": "Pour", "security": SECURITY,
         "requestBody": {"required": false, "content": {"application/json": {
           "schema": {"$ref": "#/components/schemas/Tea"}, "examples": {"a": {"value": {"warm": true}}}}}},
         "responses": {
           "200": {"description": "It was full.", "headers": {"ETag": {}}, "content": {"application/json": {
             "schema": {"type": "object", "properties": {"since": {"type": "integer"}}}}}},
           "201": {"description": "It is full.", "content": {"application/json": {
             "schema": {"$ref": "#/components/schemas/Tea"}, "examples": {"a": {"value": {"warm": false}}}}}},
           "404": {"$ref": "#/components/responses/NotFound"}}}}},
     "components": {
       "parameters": {"cup": {"name": "cup", "in": "path", "schema": {"type": "string"}, "example": "blue"}},
       "responses": {"NotFound": {"description": "There is no such cup."}},
       "schemas": {"Tea": {"type": "object", "required": ["warm"], "properties": {
         "warm": {"type": "boolean", "description": "<b>Or</b>".replaced}}},
         "Problem": {"type": "object"}, "Mood": {"enum": ["calm"]}}}}
    """##.replacing("\"<b>Or</b>\".replaced", with: "\"Or `cold`.\"")

  private func site(_ edit: (String) -> String = { $0 }) throws -> Site {
    let document = edit(Self.document.replacing("SECURITY", with: "[{\"apiKey\": []}, {}]"))
    return try TemporaryCheckout(["a.json": document]).site([
      Plan.Page(name: "http", title: "HTTP", parts: [.operations(of: "a.json")]),
      Plan.Page(name: "objects", title: "Objects", parts: [.schemas(of: "a.json")]),
    ])
  }

  @Test func `an operation says all that there is to know of it`() throws {
    let text = try site().pages[0].text
    let wanted = [
      "<p>An API.</p>", "<a href=\"../openapi.json\">", "<p>As <code>HTTP</code> is.</p>\n", "<h2 id=\"tea\">Tea ",
      "<p>Kettles.</p>",
      "<h3 id=\"pour\">Pour ", "<p class=\"endpoint\"><b>PUT</b> <code>/v1/tea/{cup}</code></p>",
      "<p>Takes an API key, or a relay in open mode.</p>",
      "<td><code>cup</code></td><td>path</td><td>string</td><td></td>",
      "<strong>Body</strong>, which may be absent: <a href=\"objects.html#Tea\"><code>Tea</code></a>",
      "<td><code>warm</code> <em>required</em></td><td>boolean</td><td>Or <code>cold</code>.</td>",
      "<td><code>200</code></td><td>It was full. With <code>ETag</code>.</td><td>object</td>",
      "<td><code>201</code></td><td>It is full.</td><td><a href=\"objects.html#Tea\"><code>Tea</code></a></td>",
      "<strong>Body of </strong><code>200</code>:", "<td><code>since</code></td><td>whole number</td><td></td>",
      "<p><a href=\"http.html#errors\">Errors</a>: <code>404</code></p>",
      "<code>PUT /v1/tea/blue\n{&quot;warm&quot;: true}\n\n201\n{&quot;warm&quot;: false}\n</code>",
      "<h2 id=\"errors\">", "<td><code>404</code></td><td>There is no such cup.</td>",
    ]
    var rest = text[...]
    for part in wanted {
      let range = try #require(rest.firstRange(of: part), "\(part) is missing, or stands elsewhere")
      rest = rest[range.upperBound...]
    }
  }

  @Test func `objects come before words`() throws {
    #expect(
      try site().pages[1].blocks.compactMap { $0.heading?.anchor } == [
        "with-fields", "Problem", "Tea", "without-fields", "Mood",
      ])
  }

  @Test(arguments: [
    ("[]", "Everybody may call it; it takes no token."),
    ("[{\"apiKey\": []}]", "Takes an API key, or a relay in open mode."), ("[{\"token\": []}, {\"apiKey\": []}]", nil),
  ])
  func `who may call is said where not everybody with a token may`(security: String, words: String?) throws {
    let text = try site { $0.replacing("[{\"apiKey\": []}, {}]", with: security) }.pages[0].text
    for other in ["Everybody may call it; it takes no token.", "Takes an API key, or a relay in open mode."] {
      #expect(text.contains(other) == (other == words))
    }
  }

  @Test(arguments: [
    ("\"tags\": [\"tea\"]", "\"tags\": []", "PUT /v1/tea/{cup} has no tag, and so no place on the page"),
    ("parameters/cup\"", "parameters/mug\"", "there is nothing at #/components/parameters/mug"),
    ("\"operationId\": \"pour\", ", "", "PUT /v1/tea/{cup} has no “operationId”"),
    ("{\"apiKey\": []}", "{\"badge\": []}", "who may call PUT /v1/tea/{cup} has no words on the site yet"),
    ("schemas/Tea\"", "schemas/Cup\"", "there is nothing at #/components/schemas/Cup"),
    ("Or `cold`.", "Or <b>cold</b>.", "the site cannot show this (html_inline); write Markdown without HTML"),
  ])
  func `what the page could not show is refused`(old: String, new: String, words: String) throws {
    let faults = #expect(throws: Faults.self) { _ = try site { $0.replacing(old, with: new) } }
    #expect(faults?.all.first == Fault(Place(file: "a.json"), words))
  }
}
