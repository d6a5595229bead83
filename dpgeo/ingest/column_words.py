"""Words that identify columns, in lower case and without accents.

The words are English, then German, French, Spanish, Italian, Portuguese, Dutch, Danish and Swedish,
Polish, Czech, Hungarian, Finnish, Romanian, Turkish, Russian, Greek, Chinese and Japanese. Earlier
words take precedence.
"""

from __future__ import annotations

import re
import unicodedata

NUMBER_WORDS = (
    "nummern nummer nummers number num numero nro nr no id ids code kode kennung kennzeichen "
    "schlussel schluessel token hash key name"
)
"""Parts of compounds that mean "number", as in Kundennr and idcliente."""

LINKS = ("", "e", "en", "n", "s", "es", "er")
"""Letters that join the two words of a compound name, such as the n in Kundennr."""

COLUMN_WORDS = {
    "latitude": (
        "latitude lat breitengrad breite geobreite latitud latitudine breedtegraad breddegrad "
        "szerokosc sirka szelesseg leveysaste leveys enlem \u0448\u0438\u0440\u043e\u0442\u0430 "
        "\u03c0\u03bb\u03b1\u03c4\u03bf\u03c3 \u7eac\u5ea6 \u7def\u5ea6 \uc704\ub3c4 y hochwert "
        "northing nordwert nord norden north norte noord"
    ),
    "longitude": (
        "longitude lon lng long langengrad laengengrad lange laenge geolaenge longitud longitudine "
        "lengtegraad laengdegrad langdgrad lengdegrad dlugosc delka hosszusag pituusaste pituus "
        "boylam \u0434\u043e\u043b\u0433\u043e\u0442\u0430 \u03bc\u03b7\u03ba\u03bf\u03c3 "
        "\u7ecf\u5ea6 \u7d93\u5ea6 \u7d4c\u5ea6 \uacbd\ub3c4 x rechtswert easting "
        "ostwert ost osten east este oost"
    ),
    "person": (
        "person individual user userid username uid device deviceid subscriber member customer "
        "client patient rider passenger traveller traveler participant respondent imsi msisdn "
        "maid idfa card vehicle taxi nutzer benutzer kunde kundin kunden gerat geraet "
        "gerate geraete fahrgast teilnehmer "
        "fahrzeug utilisateur usager personne client voyageur appareil vehicule usuario persona "
        "cliente dispositivo vehiculo viajero utente passeggero veicolo utilizador pessoa "
        "passageiro veiculo gebruiker persoon klant apparaat reiziger voertuig bruger bruker "
        "anvandare kund enhet fordon uzytkownik osoba klient urzadzenie pojazd uzivatel zarizeni "
        "vozidlo felhasznalo szemely ugyfel kayttaja henkilo laite utilizator persoana "
        "kullanici kisi "
        "\u043f\u043e\u043b\u044c\u0437\u043e\u0432\u0430\u0442\u0435\u043b\u044c "
        "\u03c7\u03c1\u03b7\u03c3\u03c4\u03b7\u03c3 \u7528\u6237 \u7528\u6236 "
        "\u8bbe\u5907 \u8f66\u724c "
        "\u4e58\u5ba2 \u5ba2\u6237 \u4f1a\u5458 \u5229\u7528\u8005 "
        "\u30e6\u30fc\u30b6\u30fc \u30e6\u30fc\u30b6 \u9867\u5ba2 \u4e57\u5ba2 "
        "\u7aef\u672b \u8eca\u4e21 \u8a2d\u5099 \u88dd\u7f6e \u8eca\u724c \u6703\u54e1 "
        "\u4f1a\u54e1 \uc0ac\uc6a9\uc790 kennung kennzeichen"
    ),
    "time": (
        "timestamp time tst datetime date when utc started began created recorded observed at ts "
        "zeitstempel zeitpunkt uhrzeit zeit datum "
        "horodatage heure fecha hora ora dataora tijdstip tijd tidspunkt tidpunkt tid czas "
        "cas idopont ido data aika paivamaara zaman tarih "
        "\u0432\u0440\u0435\u043c\u044f \u0434\u0430\u0442\u0430 "
        "\u03c7\u03c1\u03bf\u03bd\u03bf\u03c3 "
        "\u65f6\u95f4 \u6642\u9593 \u65e5\u671f \u65e5\u6642 "
        "\u6642\u523b \u65e5\u4ed8"
    ),
    "geometry": (
        "geometry geom wkb wkt ewkt latlon latlng lonlat coordinates coordinate coords position "
        "location koordinaten koordinate punkt coordonnees coordenadas coordinate coordinaten "
        "coordinaat geopunkt geo point geopoint posizione posicion ubicacion \u5750\u6807 "
        "\u5ea7\u6a19 \u4f4d\u7f6e"
    ),
}


REGION_WORDS = (
    "region h3 hexagon cell tract ward zone district pcod gridid grid tile municipality county "
    "commune area gemeinde bezirk kreis raumeinheit"
)
"""Words in the name of the column that says which region a row of a hand-over table is about."""

UNIT_WORDS = "unit"
"""Words for persons that are used in hand-over tables alone."""


KIND_WORDS = frozenset(
    {
        *("type", "kind", "class", "category", "casual", "group", "status", "role", "age", "birth"),
        *("gender", "sex", "typ", "art", "klasse", "gruppe", "alter", "geschlecht", "tipo"),
        *("categorie", "categoria", "clase", "classe", "sexe", "sexo", "sesso", "genre", "genero"),
    }
)
"""Words that say that a column holds a kind of person and not a person, such as in user_type."""


SPAN_WORDS = frozenset(
    {
        *(
            "elapsed",
            "duration",
            "travel",
            "wait",
            "waiting",
            "dwell",
            "accuracy",
            "zone",
            "offset",
        ),
        *("timezone", "tz", "interval", "dauer", "fahrzeit", "reisezeit", "duree", "duracion"),
        *("durata", "duur", "varighed", "varaktighet", "genauigkeit", "precision"),
    }
)
"""Words that say that a column is about a time but holds none, such as in travel_time."""


DESTINATION_WORDS = frozenset(
    {
        *("end", "ends", "destination", "dest", "dropoff", "drop", "to", "arrival", "alighting"),
        *("ziel", "ende", "ankunft", "arrivee", "fin", "destino", "llegada", "arrivo", "fine"),
        *("bestemming", "aankomst", "mal", "slut", "cel", "cil", "chegada", "fim"),
    }
)
"""Words in the names of columns that say where a trip ends."""


PLAIN_LETTERS = str.maketrans(
    {"\u0142": "l", "\u00f8": "o", "\u00e6": "ae", "\u0153": "oe", "\u0131": "i", "\u0111": "d"}
)
"""Plain letters for the letters that Unicode does not decompose into a plain letter and a mark."""


VOICING = "\u3099\u309a"
"""Marks of Japanese syllables, which make another syllable and not an accent."""


def words_of(name: str) -> set[str]:
    """Return a column's name and its words, in lower case and without accents or other marks."""
    divided = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    plain = [_without_marks(text) for text in (name, divided)]
    return {plain[0], *re.findall(r"[^\W\d_]+", plain[1])}


def _without_marks(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text.casefold().translate(PLAIN_LETTERS))
    kept = (sign for sign in parts if not unicodedata.combining(sign) or sign in VOICING)
    return unicodedata.normalize("NFC", "".join(kept))
