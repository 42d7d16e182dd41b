// Package admin holds the pages of those who run the server: access rules, tokens, links, namespaces,
// connected clients, connection strings, Config.json, settings, the API's reference and documentation.
// Each page has a model and its markup, as package page describes.
package admin
