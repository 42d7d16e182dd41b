// Package admin holds the pages for administrators and for reference: access rules, tokens, links,
// namespaces, connected clients, connection strings, Config.json, settings, the API reference and
// documentation. Each page has a model and its markup, as package page describes.
package admin
