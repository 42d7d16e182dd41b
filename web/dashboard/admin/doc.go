// Package admin makes the pages for administrators and for reference: access rules, tokens, links,
// namespaces, connected clients, connection strings, Config.json, settings, the API reference and
// documentation.
package admin
