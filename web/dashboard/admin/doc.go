// Package admin makes the pages of those who run the server: access rules, tokens and links,
// namespaces, connected clients, Config.json and documentation.
package admin
