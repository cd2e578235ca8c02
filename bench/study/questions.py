"""The questions, by name. Every system must give the same rows, in the same order."""

STUDY = {
    "most followed": "the three people with most followers",
    "most followed, with place": "the one with most followers, and city, state and country",
    "youngest cities": "the five cities of a country with the lowest mean age",
    "people by country": "how many between 30 and 40 each country has",
    "men with an interest in a city": "how many men of one city have one interest",
    "women with an interest by city": "the five cities with most women of one interest",
    "state of an interest": "the state of a country with most people of 23 to 30 and one interest",
    "paths of two": "how many paths of two follows there are",
    "paths of two, filtered": "how many pass by someone under 50 and end at someone over 25",
}
POINT = {
    "point read": "a person by number",
    "one hop": "the people that a person follows",
    "two hops": "the people that a person reaches in exactly two follows, not fewer",
    "reach": "how many people a person reaches in up to three follows",
}
