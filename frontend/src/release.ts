// The release page: the map island.
import "maplibre-gl/dist/maplibre-gl.css";
