// Package route has the table of the dashboard's routes: one value for each page and form, from
// which routing, roles, Safe mode and links follow. It imports every area, and no area imports it.
// Tests that open pages by address are here too.
package route
